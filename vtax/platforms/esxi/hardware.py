"""A guest's virtual machine as ESXi is told of it (vSphere Web Services API, VirtualMachineConfigSpec)."""

from collections.abc import Sequence

from pyVmomi import vim

from vtax.platforms.esxi.config import Config
from vtax.platforms.esxi.interface import Named
from vtax.platforms.esxi.made import CONSOLE, DISC, Made, Site

Device = vim.vm.device
NICS = {"vmxnet3": Device.VirtualVmxnet3, "e1000": Device.VirtualE1000, "e1000e": Device.VirtualE1000e}
IDE_CONTROLLER = 200
"""The key of the first one, which every virtual machine has."""


def describe(
    made: Made, site: Site, config: Config, macs: Sequence[str], serial_port: int
) -> vim.vm.ConfigSpec:
    """A virtual machine that starts from its disc, has its first serial line at `serial_port`, and NICs with `macs`."""
    devices = [
        _disc(made, site),
        _serial(
            Device.VirtualSerialPort.URIBackingInfo(serviceURI=f"tcp://:{serial_port}", direction="server")
        ),
        _serial(Device.VirtualSerialPort.FileBackingInfo(fileName=f"{made.path}/{CONSOLE}")),
        *(_nic(config, mac, network) for mac, network in zip(macs, site.networks, strict=False)),
    ]
    return vim.vm.ConfigSpec(
        name=made.name,
        uuid=made.uuid,
        annotation="A guest of vtax. It is removed at the end of the run, or by vtax clean.",
        guestId="otherLinux64Guest",
        firmware="bios",
        files=vim.vm.FileInfo(vmPathName=f"{made.path}/{made.name}.vmx"),
        numCPUs=config.vcpus,
        memoryMB=config.memory_bytes >> 20,
        deviceChange=[_added(device, -1 - number) for number, device in enumerate(devices)],
        extraConfig=[
            # Addresses that a user gives are otherwise refused outside of VMware's own range.
            vim.option.OptionValue(key=f"ethernet{number}.checkMACAddress", value="FALSE")
            for number in range(len(macs))
        ],
    )


def _added(device: vim.vm.device.VirtualDevice, key: int) -> vim.vm.device.VirtualDeviceSpec:
    device.key = key
    return Device.VirtualDeviceSpec(operation=Device.VirtualDeviceSpec.Operation.add, device=device)


def _connected() -> vim.vm.device.VirtualDevice.ConnectInfo:
    return Device.VirtualDevice.ConnectInfo(startConnected=True, allowGuestControl=False, connected=True)


def _disc(made: Made, site: Site) -> vim.vm.device.VirtualCdrom:
    return Device.VirtualCdrom(
        controllerKey=IDE_CONTROLLER,
        backing=Device.VirtualCdrom.IsoBackingInfo(fileName=f"{made.path}/{DISC}", datastore=site.datastore),
        connectable=_connected(),
    )


def _serial(backing: vim.vm.device.VirtualDevice.BackingInfo) -> vim.vm.device.VirtualSerialPort:
    return Device.VirtualSerialPort(backing=backing, yieldOnPoll=True, connectable=_connected())


def _nic(config: Config, mac: str, network: Named) -> vim.vm.device.VirtualEthernetCard:
    backing = Device.VirtualEthernetCard.NetworkBackingInfo(deviceName=network.name, network=network)
    return NICS[config.nic_model](
        backing=backing,
        addressType="manual",
        macAddress=mac,
        wakeOnLanEnabled=False,
        connectable=_connected(),
    )

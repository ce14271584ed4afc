"""Port `vf`: a virtual function of a NIC (SR-IOV), which the built-in testbed has none of."""

from pathlib import Path

from vtax.platforms import PlatformUnusable
from vtax.testbed.ports.port import Port

DEVICES = Path("/sys/class/net")


class VfPort(Port):
    """Refused: links of the built-in testbed are veth pairs, and no NIC's."""

    title = "a NIC's virtual function"

    @classmethod
    def find(cls) -> dict[str, str]:
        """Say what this machine's NICs have, and why that is of no use here."""
        able = {
            path.parents[1].name: int(path.read_text())
            for path in sorted(DEVICES.glob("*/device/sriov_totalvfs"))
        }
        told = ", ".join(f"{name} can have {count} of them" for name, count in able.items() if count)
        raise PlatformUnusable(
            (told or "no NIC of this machine has virtual functions (SR-IOV)")
            + "; links of the built-in testbed are veth pairs, which have none",
            "needs a testbed of NICs with SR-IOV; allowed here: bridge, routed, ovs, macvtap",
        )

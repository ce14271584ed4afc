"""What a compromised guest reaches: a container's uid 0 attacks from inside; an emulator has no rights to lose."""

import contextlib
import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from tests.helpers.namespaces import PORTS, interfaces, ports_of, told
from tests.helpers.rights import OF_NETWORK, assert_of_network_only, status_of, status_of_agent
from tests.helpers.testbeds import wait_for
from vtax.agent_api import GuestConfigureParams, GuestNic, ReceiverOpenParams, SocketOptions
from vtax.machine.agent import Agent, AgentError
from vtax.machine.namespace import Namespace
from vtax.machine.processes import descendants
from vtax.platforms import GuestPlan, container, qemu
from vtax.platforms.accelerator import DEVICE
from vtax.platforms.oci import at_place, runtime_command
from vtax.platforms.unprivileged import as_user
from vtax.platforms.vhost_user import start_switch

pytestmark = pytest.mark.system

PREAMBLE = """
import ctypes, errno, json, os
libc = ctypes.CDLL(None, use_errno=True)
NEWUSER, NEWNS = 0x10000000, 0x20000

def told(result):
    return "done" if result >= 0 else errno.errorcode[ctypes.get_errno()]

def called(number, *arguments):
    return told(libc.syscall(number, *arguments))

def opened(path, flags):
    try:
        return len(os.read(os.open(path, flags), 1)) if flags == os.O_RDONLY else os.open(path, flags)
    except OSError as error:
        return errno.errorcode[error.errno]

def in_child(act):
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.write(writer, act().encode())
        os._exit(0)
    os.close(writer)
    return os.read(reader, 100).decode()

def mounted_in_own_namespace():
    if libc.unshare(NEWUSER | NEWNS) < 0:
        return told(-1)
    return told(libc.mount(b"none", b"/tmp", b"tmpfs", 0, None))

def cloned(flags):
    child = libc.syscall(56, flags | 17, 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    return told(child)
"""


@contextlib.contextmanager
def running(plan: GuestPlan, **keys: str) -> Iterator[GuestPlan]:
    """The plan of a guest that is up and may start the host's programs, which takes most capabilities."""
    plan = replace(plan, config=container.Config.model_validate(keys), packages=())
    guest = container.Kind().start(plan)
    try:
        guest.agent.api.guest_configure(GuestConfigureParams(nics=[], forward=True))
        wait_for(
            "the runtime's word on the guest, which can come after the guest's own", lambda: is_known(plan)
        )
        yield plan
    finally:
        guest.stop()


@pytest.fixture(params=["runc", "crun"])
def started(request: pytest.FixtureRequest, plan: GuestPlan) -> Iterator[GuestPlan]:
    """The plan of a confined guest."""
    with running(plan, runtime=request.param) as confined:
        yield confined


def inside(plan: GuestPlan, expression: str) -> object:
    """The value of an expression in Python in a guest, as its root."""
    script = f"{PREAMBLE}\nprint(json.dumps({expression}))"
    command = [*at_place(plan.scratch / plan.name), *asked(plan, "exec"), "/usr/bin/python3", "-c", script]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def asked(plan: GuestPlan, command: str) -> list[str]:
    """The runtime's command about the guest."""
    config = plan.config
    assert isinstance(config, container.Config)
    runtime = runtime_command(config.runtime, plan.scratch / "containers")
    return [*runtime, command, Namespace(f"{plan.record.run}-guest").name]


def is_known(plan: GuestPlan) -> bool:
    """Whether the runtime has a record of the guest, without which it starts nothing in it."""
    return subprocess.run(asked(plan, "state"), check=False, capture_output=True, timeout=120).returncode == 0


def existing(*paths: str) -> list[str]:
    """Those that this kernel has."""
    return [path for path in paths if Path(path).exists()]


def test_settings_of_the_host_cannot_be_written(started: GuestPlan) -> None:
    """The kernel runs what core_pattern names as root of the host; nothing here writes to what it opened.

    What a user namespace leaves to root of the host (EACCES) is read-only as well.
    """
    targets = existing("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/sys/vm/drop_caches")
    tried = inside(started, f"[opened(path, os.O_WRONLY) for path in {targets}]")
    assert tried == ["EACCES"] * len(targets)
    read_only = inside(started, f"[bool(os.statvfs(path).f_flag & os.ST_RDONLY) for path in {targets}]")
    assert read_only == [True] * len(targets)


def test_settings_of_its_own_network_can_be_written(started: GuestPlan) -> None:
    assert isinstance(inside(started, "opened('/proc/sys/net/ipv4/ip_forward', os.O_WRONLY)"), int)
    assert inside(started, "open('/proc/sys/net/ipv4/ip_forward').read()") == "1\n"


def test_the_hosts_kernel_is_masked(started: GuestPlan) -> None:
    masked = existing("/proc/timer_list", "/proc/keys", "/proc/kcore")
    assert inside(started, f"[opened(path, os.O_RDONLY) for path in {masked}]") == [0] * len(masked)
    assert inside(started, "os.listdir('/sys/firmware')") == []


def test_no_namespaces_and_no_mounts_can_be_made(started: GuestPlan) -> None:
    """In a user namespace of its own, a process has all capabilities over further parts of the kernel."""
    attacks = [
        "called(272, NEWUSER)",
        "in_child(mounted_in_own_namespace)",
        "cloned(NEWUSER)",
        "told(libc.mount(b'none', b'/tmp', b'tmpfs', 0, None))",
    ]
    assert inside(started, f"[{', '.join(attacks)}]") == ["EPERM"] * len(attacks)


@pytest.mark.parametrize(
    ("call", "number"),
    [("bpf", 321), ("add_key", 248), ("keyctl", 250), ("io_uring_setup", 425), ("ptrace", 101)],
)
def test_system_calls_beyond_the_profile_fail(call: str, number: int, started: GuestPlan) -> None:
    """Without a filter the arguments are looked at: zeros are another error, or do something."""
    assert inside(started, f"called({number}, 0, 0, 0, 0, 0)") == "EPERM", call


def test_threads_are_still_made_where_clone3_is_refused(started: GuestPlan) -> None:
    assert inside(started, "called(435, 0, 0)") == "ENOSYS"
    assert inside(started, "(__import__('threading').Thread(target=print, args=('',)).start(), 1)[1]") == 1


def test_sockets_that_know_no_network_namespace_cannot_be_made(started: GuestPlan) -> None:
    """Those of the host's hypervisor (AF_VSOCK, 40) and of the kernel's ciphers (AF_ALG, 38)."""
    attempts = "told(libc.socket(40, 1, 0)), told(libc.socket(38, 5, 0)), told(libc.socket(2, 2, 0))"
    assert inside(started, f"[{attempts}]") == ["EPERM", "EPERM", "done"]


def test_a_container_has_no_interface_but_those_planned(started: GuestPlan) -> None:
    assert interfaces(Namespace(f"{started.record.run}-guest")) == {"lo", "eth0"}
    seen = inside(started, "[name for _, name in __import__('socket').if_nameindex()]")
    assert seen == ["lo", "eth0"]


@pytest.mark.parametrize("runtime", ["runc", "crun"])
def test_an_agent_without_programs_has_rights_over_its_network_only(runtime: str, plan: GuestPlan) -> None:
    guest = container.Kind().start(replace(plan, config=container.Config(runtime=runtime)))
    try:
        status = status_of_agent(guest)
    finally:
        guest.stop()
    assert_of_network_only(status)


@pytest.mark.parametrize("runtime", ["runc", "crun"])
def test_without_isolation_all_of_this_is_open(runtime: str, plan: GuestPlan) -> None:
    """So that what these tests see fail is what isolation closes."""
    with running(plan, runtime=runtime, isolation="none") as unconfined:
        pattern = "opened('/proc/sys/kernel/core_pattern', os.O_WRONLY)"
        assert isinstance(inside(unconfined, pattern), int)
        assert inside(unconfined, "opened('/proc/timer_list', os.O_RDONLY)") == 1
        namespaces = ["in_child(mounted_in_own_namespace)", "cloned(NEWUSER)", "called(272, NEWUSER)"]
        assert inside(unconfined, f"[{', '.join(namespaces)}]") == ["done"] * len(namespaces)
        calls = ", ".join(f"called({number}, 0, 0, 0, 0, 0)" for number in (248, 250, 425))
        # Zeros would have the runtime trace this program, whose end it then can miss: attach to nobody.
        calls += ", called(101, 16, 0, 0, 0, 0)"
        assert "EPERM" not in inside(unconfined, f"[{calls}]")  # type: ignore[operator] # a list
        families = "told(libc.socket(40, 1, 0)), told(libc.socket(38, 5, 0))"
        assert "EPERM" not in inside(unconfined, f"[{families}]")  # type: ignore[operator] # a list
        assert str(inside(unconfined, "open('/proc/self/uid_map').read()")).split() == [
            "0",
            "0",
            "4294967295",
        ]


def test_root_inside_is_nobody_outside(started: GuestPlan) -> None:
    first, outside, count = str(inside(started, "open('/proc/self/uid_map').read()")).split()
    assert (first, count) == ("0", "65536")
    assert int(outside) >= 0x80000
    assert (
        inside(started, "open('/etc/shadow').read() if os.access('/etc/shadow', os.R_OK) else None") is None
    )


def test_a_buffer_beyond_the_hosts_bound_is_refused_by_name(plan: GuestPlan) -> None:
    """By force it takes CAP_NET_ADMIN of the host itself."""
    bound = int(Path("/proc/sys/net/core/rmem_max").read_text())
    guest = container.Kind().start(plan)
    try:
        configure(guest.agent, plan)
        listen(guest.agent, bound)
        guest.agent.api.receiver_close()
        with pytest.raises(AgentError, match=r"options\.receive_buffer_bytes.*net\.core\.rmem_max"):
            listen(guest.agent, bound + 1)
    finally:
        guest.stop()


def configure(agent: Agent, plan: GuestPlan) -> None:
    """Give the guest's NIC an address."""
    nic = GuestNic(mac=plan.nics[0].mac, address="198.18.0.1/24", mtu=1500, neighbours=[])
    agent.api.guest_configure(GuestConfigureParams(nics=[nic], forward=False))


def listen(agent: Agent, bytes_: int) -> None:
    """Open a port of an endpoint."""
    options = SocketOptions(receive_buffer_bytes=bytes_)
    endpoint = {"protocol": "udp", "interface": "eth0", "address": "198.18.0.1", "port": 5000}
    flows = {"cpu": 0, "trial": 1, "flows": 1, "duration_s": 1.0}
    agent.api.receiver_open(ReceiverOpenParams(**endpoint, **flows, options=options))  # type: ignore[arg-type]


@pytest.mark.parametrize("module", [container, qemu], ids=["container", "qemu"])
def test_an_agent_that_answers_has_no_port(module: ModuleType, plan: GuestPlan) -> None:
    """Nor has what runs its guest: control is a stream."""
    keys = {"accelerator": "emulated"} if module is qemu else {}
    guest = module.Kind().start(replace(plan, config=module.Config.model_validate(keys)))
    try:
        guest.agent.api.ping()
        pid = guest.agent.process.pid
        assert ports_of([pid, *descendants(pid)]) == []
        assert told(plan.host, *PORTS) == ""
        if module is container:
            inside_it = Namespace(f"{plan.record.run}-guest")
            assert told(inside_it, *PORTS) == ""
            configure(guest.agent, plan)
            listen(guest.agent, 4096)
            assert ":5000 " in told(inside_it, *PORTS), "a port of an endpoint"
    finally:
        guest.stop()


def status_of_emulator(plan: GuestPlan, isolation: str) -> dict[str, str]:
    """The same of the emulator of a running guest."""
    config = qemu.Config.model_validate({"isolation": isolation, "accelerator": "emulated"})
    guest = qemu.Kind().start(replace(plan, config=config))
    try:
        return status_of(guest.pid)
    finally:
        guest.stop()


def test_an_emulator_is_nobody_and_has_no_rights(plan: GuestPlan) -> None:
    status = status_of_emulator(plan, "production")
    ids = {*status["Uid"].split(), *status["Gid"].split()}
    assert len(ids) == 1
    assert int(ids.pop()) >= 0x80000
    assert status["Groups"] == ""
    assert {int(status[f"Cap{kind}"], 16) for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {0}
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")


def test_an_emulator_without_isolation_is_root(plan: GuestPlan) -> None:
    status = status_of_emulator(plan, "none")
    assert set(status["Uid"].split()) == {"0"}
    assert int(status["CapEff"], 16) != 0
    assert status["Seccomp"] == "0"


@pytest.mark.skipif(not DEVICE.exists(), reason="no /dev/kvm here")
def test_an_emulators_user_has_kvm_where_it_asks_for_it(tmp_path: Path) -> None:
    """By a node of its own: nobody else's rights change."""
    before = DEVICE.stat()
    ask = ["sh", "-c", f"exec 3<>{DEVICE} && id -u && grep -c ' /mnt ' /proc/self/mounts"]
    done = subprocess.run([*as_user(0x80000, kvm=True), *ask], check=False, capture_output=True, text=True)
    assert done.stdout.split() == [str(0x80000), "1"], done.stderr
    assert DEVICE.stat() == before
    assert subprocess.run([*as_user(0x80000), *ask], check=False).returncode != 0


@pytest.mark.parametrize("confined", [True, False])
def test_a_switch_has_rights_over_its_network_only(confined: bool, plan: GuestPlan) -> None:
    """testpmd works in memory that it shares with a guest."""
    switch = start_switch(plan, 1, confined=confined)
    try:
        status = status_of(switch.process.pid)
        assert switch.socket(0).is_socket()
    finally:
        switch.stop()
    assert (int(status["Uid"].split()[1]) >= 0x80000) == confined
    assert (int(status["CapEff"], 16) == OF_NETWORK) == confined
    assert status["NoNewPrivs"] == str(int(confined))

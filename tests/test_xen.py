"""Platform kind `xen`: where it can run, what it asks of Xen's tools, and what it makes of their answers."""

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from vtax.machine.cpu import CpuSample, cpu_use
from vtax.platforms import GuestPlan, PlatformUnusable, load_kind, presets
from vtax.platforms.xen import Config, Kind, toolstack
from vtax.platforms.xen.domain import definition
from vtax.platforms.xen.kind import _weigh_host

INFO = """host                   : dom0
nr_cpus                : 2
xen_version            : 4.17.7
xen_caps               : xen-3.0-x86_64 {caps}
xen_scheduler          : {scheduler}
"""
WEIGHTS = """Name                                ID Weight  Cap
Domain-0                             0   8192    0
"""
XL = """#!/bin/sh
case "$1" in
    info) cat {directory}/info;;
    sched-credit2) cat {directory}/weights;;
    *) echo "no such domain" >&2; exit 1;;
esac
"""
Answers = Callable[..., None]


@pytest.fixture
def dom0(commands: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Answers:
    """Has xl answer as in dom0 of a Xen machine."""

    def answer(caps: str = "hvm-3.0-x86_64", scheduler: str = "credit2", kind: str = "control_d") -> None:
        for name, told in (
            ("type", "xen"),
            ("capabilities", kind),
            ("info", INFO.format(caps=caps, scheduler=scheduler)),
            ("weights", WEIGHTS),
        ):
            (tmp_path / name).write_text(told)
        (commands / "xl").write_text(XL.format(directory=tmp_path))
        for tool in ("xenstore-write", "xenconsole"):
            (commands / tool).write_text("#!/bin/sh\n")
        for tool in commands.iterdir():
            tool.chmod(0o755)
        monkeypatch.setattr(toolstack, "HYPERVISOR", tmp_path / "type")
        monkeypatch.setattr(toolstack, "CAPABILITIES", tmp_path / "capabilities")
        monkeypatch.setattr(toolstack, "check_clock", lambda: None)
        toolstack.facts.cache_clear()

    return answer


@pytest.fixture(autouse=True)
def forget() -> None:
    toolstack.facts.cache_clear()


def test_a_machine_without_xen_is_told_what_it_takes() -> None:
    with pytest.raises(PlatformUnusable, match="does not run Xen; needs vtax in dom0"):
        toolstack.check_toolstack()


def test_a_guest_of_xen_is_not_its_dom0(dom0: Answers) -> None:
    dom0(kind="")
    with pytest.raises(PlatformUnusable, match="a guest of Xen, not its dom0"):
        toolstack.check_toolstack()


@pytest.mark.system
def test_the_presets_run_in_any_dom0(dom0: Answers) -> None:
    dom0()
    for name in ("xen-pv", "xen-pvh"):
        preset = presets()[name]
        assert isinstance(preset.platform(), Kind)
        preset.platform().check(preset.resolve({}))
        known = load_kind(preset.kind).Kind().known(preset.resolve({}))
        assert known.accelerator == "none"
        assert known.facts["version"] == "4.17.7"


@pytest.mark.system
def test_pvh_takes_virtualization(dom0: Answers) -> None:
    dom0(caps="")
    Kind().check(Config())
    with pytest.raises(PlatformUnusable, match=r"no virtualization in this CPU.*; needs domain: pv"):
        Kind().check(Config(domain="pvh"))


@pytest.mark.system
def test_weights_take_a_scheduler_that_knows_them(dom0: Answers) -> None:
    dom0(scheduler="null")
    Kind().check(Config())
    with pytest.raises(PlatformUnusable, match="scheduler null knows no weights; needs sched=credit2"):
        Kind().check(Config(host_weight=32))


def test_what_the_tools_tell_is_read(dom0: Answers) -> None:
    dom0()
    assert toolstack.weight_of(toolstack.HOST) == 8192


def test_a_refusal_is_passed_on(dom0: Answers) -> None:
    dom0()
    with pytest.raises(OSError, match="xl domid: no such domain"):
        toolstack.domain_id("run-guest")


def test_another_weight_is_there_until_it_is_set_back(dom0: Answers) -> None:
    dom0()
    for weight, status in ((256, 0), (8192, 1)):
        command = toolstack.other_weight_words(toolstack.HOST, weight)
        assert subprocess.run(command, check=False).returncode == status


@pytest.mark.system
def test_a_domain_in_xls_words(plan: GuestPlan) -> None:
    text = definition(
        replace(plan, cpus=[1, 2]), "run-guest", "pvh", Path("/k/vmlinux"), Path("/k/i.cpio"), 2, 256 << 20
    )
    assert 'type = "pvh"\n' in text
    assert "memory = 256\n" in text
    assert 'cpus = "1,2"\n' in text
    assert 'vif = ["mac=02:00:00:00:00:09,script=/bin/true"]\n' in text
    pinned = definition(replace(plan, pinned=[2, 1]), "g", "pv", Path("k"), Path("i"), 2, 256 << 20)
    assert 'cpus = ["2", "1"]\n' in pinned


@pytest.mark.system
def test_another_weight_than_was_asked_for_is_refused(dom0: Answers, plan: GuestPlan) -> None:
    """Xen tells of 8192 whatever it is asked."""
    dom0()
    _weigh_host(plan.record, 32)
    with pytest.raises(OSError, match="told a weight of 256 for Domain-0, and gives it 8192"):
        _weigh_host(plan.record, 1)


def test_idle_is_what_the_hypervisors_count_and_stolen_time_leave() -> None:
    """The kernel's 0.6 s of idle time have the 0.5 s in them that it waited for its CPU once it was woken."""
    before = CpuSample(10.0, {0: 4.0}, {0: 1.0}).having_run({0: 5.0})
    after = CpuSample(11.0, {0: 4.6}, {0: 1.5}).having_run({0: 5.4})
    assert cpu_use(before, after).busy_percent == pytest.approx(40)
    assert after.idle_s[0] - before.idle_s[0] == pytest.approx(0.1)

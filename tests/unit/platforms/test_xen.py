"""Platform kind `xen`: where it can run, what it asks of Xen's tools, and what it makes of their answers."""

import pytest

from tests.helpers.xen import Answers
from vtax.machine.cpu import CpuSample, cpu_use
from vtax.platforms import PlatformUnusable
from vtax.platforms.xen import toolstack
from vtax.platforms.xen.kind import DomainWeight


def test_a_machine_without_xen_is_told_what_it_takes() -> None:
    with pytest.raises(PlatformUnusable, match="does not run Xen; needs vtax in dom0"):
        toolstack.check_toolstack()


def test_a_guest_of_xen_is_not_its_dom0(dom0: Answers) -> None:
    dom0(kind="")
    with pytest.raises(PlatformUnusable, match="a guest of Xen, not its dom0"):
        toolstack.check_toolstack()


def test_what_the_tools_tell_is_read(dom0: Answers) -> None:
    dom0()
    assert toolstack.weight_of(toolstack.HOST) == 8192


def test_a_refusal_is_passed_on(dom0: Answers) -> None:
    dom0()
    with pytest.raises(OSError, match="xl domid: no such domain"):
        toolstack.domain_id("run-guest")


def test_another_weight_is_there_until_it_is_set_back(dom0: Answers) -> None:
    dom0()
    assert [DomainWeight(toolstack.HOST, weight).is_there() for weight in (256, 8192)] == [True, False]


def test_idle_is_what_the_hypervisors_count_and_stolen_time_leave() -> None:
    """The kernel's 0.6 s of idle time have the 0.5 s in them that it waited for its CPU once it was woken."""
    before = CpuSample(10.0, {0: 4.0}, {0: 1.0}).having_run({0: 5.0})
    after = CpuSample(11.0, {0: 4.6}, {0: 1.5}).having_run({0: 5.4})
    assert cpu_use(before, after).busy_percent == pytest.approx(40)
    assert after.idle_s[0] - before.idle_s[0] == pytest.approx(0.1)

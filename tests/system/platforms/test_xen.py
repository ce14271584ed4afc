"""Platform kind `xen`: what its presets ask of dom0, and what it asks of Xen's tools."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers.xen import Answers
from vtax.platforms import GuestPlan, PlatformUnusable, load_kind, presets
from vtax.platforms.xen import Config, Kind
from vtax.platforms.xen.domain import definition
from vtax.platforms.xen.kind import _weigh_host

pytestmark = pytest.mark.system


def test_the_presets_run_in_any_dom0(dom0: Answers) -> None:
    dom0()
    for name in ("xen-pv", "xen-pvh"):
        preset = presets()[name]
        assert isinstance(preset.platform(), Kind)
        preset.platform().check(preset.resolve({}))
        known = load_kind(preset.kind).Kind().known(preset.resolve({}))
        assert known.accelerator == "none"
        assert known.facts["version"] == "4.17.7"


def test_pvh_takes_virtualization(dom0: Answers) -> None:
    dom0(caps="")
    Kind().check(Config())
    with pytest.raises(PlatformUnusable, match=r"no virtualization in this CPU.*; needs domain: pv"):
        Kind().check(Config(domain="pvh"))


def test_weights_take_a_scheduler_that_knows_them(dom0: Answers) -> None:
    dom0(scheduler="null")
    Kind().check(Config())
    with pytest.raises(PlatformUnusable, match="scheduler null knows no weights; needs sched=credit2"):
        Kind().check(Config(host_weight=32))


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


def test_another_weight_than_was_asked_for_is_refused(dom0: Answers, plan: GuestPlan) -> None:
    """Xen tells of 8192 whatever it is asked."""
    dom0()
    _weigh_host(plan.record, 32)
    with pytest.raises(OSError, match="told a weight of 256 for Domain-0, and gives it 8192"):
        _weigh_host(plan.record, 1)

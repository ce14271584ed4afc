"""Conditions in which compared campaigns differ: machines, kernels, bridges and contexts, refused by name."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.comparisons import STEADY, compare_results, made
from tests.helpers.results.builder import make
from tests.helpers.results.forwarding import Made, blocks
from vtax.inputs import InputError
from vtax.results import Result, TrialRecord

HOST = {"cpu_model": "One", "cpus": 2, "label": None}


def test_every_machine_of_a_testbed_counts(tmp_path: Path) -> None:
    sides = [
        made(tmp_path / model, {"raw": STEADY}, hosts={"uut": HOST, "gen": {"cpu_model": model}})
        for model in ("One", "Two")
    ]
    with pytest.raises(InputError, match=r"--allow machine\n.*gen cpu_model: One and Two"):
        compare_results(*sides, within=0.05)


@pytest.mark.parametrize(
    ("condition", "campaign"),
    [
        ("machine", {"hosts": {"local": {**HOST, "cpus": 4}}}),
        ("settings", {"scenario": {"workload": {"kind": "forwarding", "duration_s": 2.0}}}),
        ("settings", {"scenario": {"platform": {"vcpus": 2}}}),
        ("accelerator", {"platforms": {"raw": {"accelerator": "kvm"}}}),
    ],
)
def test_other_conditions_are_refused_by_name(
    condition: str, campaign: dict[str, Any], tmp_path: Path
) -> None:
    known: dict[str, Any] = {
        "hosts": {"local": HOST},
        "platforms": {"raw": {"accelerator": "none"}},
        "scenario": {"workload": {"kind": "forwarding", "duration_s": 1.0}, "platform": {}},
    }
    before = made(tmp_path / "a", {"raw": STEADY}, **known)
    after = made(
        tmp_path / "b",
        {"raw": STEADY},
        **{**known, **campaign, "scenario": {**known["scenario"], **campaign.get("scenario", {})}},
    )
    with pytest.raises(InputError, match=f"--allow {condition}\n"):
        compare_results(before, after, within=0.05)
    compared = compare_results(before, after, within=0.05, allow=[condition])
    assert [difference.condition for difference in compared.differences] == [condition]
    with pytest.raises(InputError, match="no condition 'weather'; there are: machine, kernel"):
        compare_results(before, after, within=0.05, allow=["weather"])


@dataclass(frozen=True)
class Bridging(Made):
    """A trial whose hosts' bridges did this, as `environment` has it; None before vtax recorded it."""

    recorded: str | None = None
    kernel_digest: str = "0" * 12

    def record(self, trial_id: int) -> TrialRecord:
        row = {"host": "local", "bridge_netfilter": self.recorded, "hash": self.kernel_digest}
        made = super().record(trial_id)
        made.environment.append(row)
        return made


def bridging(directory: Path, *recorded: str | None, digest: str = "0" * 12, **campaign: Any) -> Result:
    """A campaign whose trials have one of these after the other."""
    trials = [
        Bridging("container", block, received_mbps=value, recorded=each, kernel_digest=digest)
        for block, value in enumerate(STEADY)
        for each in recorded
    ]
    return make(directory, trials, **campaign)


def hooks(**by_host: str | None) -> str:
    """Which of netfilter's tables bridges passed frames to, by host."""
    tables = ("iptables", "ip6tables", "arptables")
    return json.dumps(
        {
            host: on if on is None else {table: table in on.split() for table in tables}
            for host, on in by_host.items()
        }
    )


EVERY_TABLE = "iptables ip6tables arptables"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (None, hooks(uut="", source=""), "not recorded and off"),
        (hooks(uut=EVERY_TABLE), hooks(uut=""), "on and off"),
        (hooks(uut="iptables"), hooks(uut="iptables arptables"), "iptables and iptables and arptables"),
        (hooks(uut="", source=""), hooks(uut=EVERY_TABLE, source=""), "off and off, on"),
        ("{]", hooks(uut=""), "not recorded and off"),
    ],
)
def test_bridges_that_passed_frames_to_netfilter_are_named(
    before: str | None, after: str, said: str, tmp_path: Path
) -> None:
    sides = [bridging(tmp_path / "a", before), bridging(tmp_path / "b", after)]
    with pytest.raises(InputError, match="--allow kernel\n") as refused:
        compare_results(*sides, within=0.05)
    assert f"kernel: local netfilter in bridges: {said}" in str(refused.value)
    compared = compare_results(*sides, within=0.05, allow=["kernel"])
    assert [difference.what for difference in compared.differences] == ["local netfilter in bridges"]


def test_bridges_that_passed_none_are_alike_with_br_netfilter_and_without(tmp_path: Path) -> None:
    sides = [bridging(tmp_path / "a", hooks(uut="")), bridging(tmp_path / "b", hooks(uut=None, far=""))]
    assert compare_results(*sides, within=0.05).differences == []


def test_netfilter_in_bridges_as_a_factor_is_no_difference(tmp_path: Path) -> None:
    scenario = {"factors": {"platform": ["container"], "bridge_netfilter": [False, True]}}
    sides = [
        bridging(tmp_path / "a", hooks(uut=""), hooks(uut=EVERY_TABLE), scenario=scenario),
        bridging(tmp_path / "b", hooks(uut="")),
    ]
    assert compare_results(*sides, within=0.05).differences == []


def test_netfilter_in_bridges_explains_no_other_digest(tmp_path: Path) -> None:
    """Each side's digest is of facts that this one is not among."""
    sides = [
        bridging(tmp_path / "a", hooks(uut=EVERY_TABLE)),
        bridging(tmp_path / "b", hooks(uut=""), digest="1" * 12),
    ]
    found = compare_results(*sides, within=0.05, allow=["kernel"]).differences
    assert {difference.what for difference in found} == {
        "local netfilter in bridges",
        "local environment's digest",
    }


def test_another_context_is_refused_and_compared_when_allowed(tmp_path: Path) -> None:
    sides = [make(tmp_path / context, blocks(STEADY, uut_context=context)) for context in ("own", "sender")]
    with pytest.raises(InputError, match="own and sender"):
        compare_results(*sides, within=0.05)
    compared = compare_results(*sides, within=0.05, allow=["context"])
    assert {change.metric.name for change in compared.changes} >= {"throughput", "cpu"}
    assert not compared.only_in_a


def test_platforms_facts_are_told_and_not_refused(tmp_path: Path) -> None:
    sides = [
        made(tmp_path / version, {"raw": STEADY}, platforms={"raw": {"facts": {"version": version}}})
        for version in ("7.2", "9.1")
    ]
    assert compare_results(*sides, within=0.05).notes == ["raw version: 7.2 and 9.1"]

"""Two levels of a factor in one campaign: compared block by block, and what cannot be is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.json_schema import broken
from tests.helpers.results.builder import make
from tests.helpers.results.forwarding import Made
from vtax.cli import main
from vtax.documents.schema import document_schema
from vtax.inputs import InputError
from vtax.results import Result
from vtax.statistics import absolute_change, paired_difference, paired_ratio, relative_change
from vtax.views.compare import ChangeVerdict, Comparison, compare, read_levels

Captured = pytest.CaptureFixture[str]

HOURS = (100.0, 40.0, 160.0, 70.0, 130.0)
"""Rates of the reference by block: the machine's hours differ far more than the levels do."""
NOISE = (1.0, 1.004, 0.997, 1.002, 0.999)


def campaign(directory: Path, shares: dict[str, float], **made: Any) -> Result:
    """Platforms that carry this share of the reference's rate in each block."""
    trials = [
        Made(name, block, received_mbps=rate * share * noise, offered_mbps=400.0, **made)
        for name, share in shares.items()
        for block, (rate, noise) in enumerate(zip(HOURS, NOISE if share != 1.0 else [1.0] * 5, strict=True))
    ]
    return make(directory, trials)


def compared(result: Result, by: str, **options: Any) -> Comparison:
    return compare(*read_levels(result, by), within=0.05, **options)


def test_what_blocks_share_is_no_scatter(tmp_path: Path) -> None:
    found = compared(campaign(tmp_path / "r", {"raw": 1.0, "container": 0.9}), "platform")
    (change,) = (change for change in found.changes if change.metric.name == "throughput")
    assert change.verdict is ChangeVerdict.WORSE
    assert change.change is not None and change.change.n == len(HOURS)
    assert change.change.value == pytest.approx(-0.1, abs=0.003)
    assert change.change.low is not None and -0.11 < change.change.low < -0.1


def test_the_first_level_of_the_scenario_is_the_reference(tmp_path: Path) -> None:
    result = campaign(tmp_path / "r", {"raw": 1.0, "container": 0.9})
    assert compared(result, "platform").a.endswith("r: platform=raw")
    turned = compared(result, "platform=container,raw")
    assert turned.a.endswith("r: platform=container")
    assert {change.verdict for change in turned.changes if change.metric.name == "throughput"} == {
        ChangeVerdict.BETTER
    }


def test_cells_are_named_by_what_else_differs(tmp_path: Path) -> None:
    trials = [
        Made(name, block, frame_bytes=size, received_mbps=rate)
        for name in ("raw", "container")
        for size in (64, 1500)
        for block, rate in enumerate((90.0, 91.0))
    ]
    result = make(tmp_path / "r", trials)
    assert {change.cell for change in compared(result, "platform").changes} == {
        "frame_bytes=64",
        "frame_bytes=1500",
    }
    assert {change.cell for change in compared(result, "frame_bytes").changes} == {
        "platform=raw",
        "platform=container",
    }


def test_a_block_that_one_side_lacks_is_left_out(tmp_path: Path) -> None:
    trials = [
        Made(name, block, received_mbps=rate * share, offered_mbps=400.0)
        for name, share, left_out in (("raw", 1.0, 4), ("container", 0.9, 0))
        for block, rate in enumerate(HOURS)
        if block != left_out
    ]
    found = compared(make(tmp_path / "r", trials), "platform")
    (change,) = (change for change in found.changes if change.metric.name == "throughput")
    assert change.change is not None and change.change.n == 3


def test_blocks_that_no_two_sides_share_are_no_pair(tmp_path: Path) -> None:
    trials = [
        Made(name, block) for name, blocks in (("raw", (0, 1)), ("container", (2, 3))) for block in blocks
    ]
    found = compared(make(tmp_path / "r", trials), "platform")
    assert verdicts_of(found) == {ChangeVerdict.UNKNOWN}
    assert {change.note for change in found.changes} == {"blocks with a value of both: 0"}


def verdicts_of(found: Comparison) -> set[ChangeVerdict]:
    return {change.verdict for change in found.changes}


def test_a_rule_fails_a_build(tmp_path: Path, capsys: Captured) -> None:
    result = campaign(tmp_path / "r", {"raw": 1.0, "container": 0.9, "lxc": 1.001})
    words = ["compare", str(result.directory), "--fail-on", "throughput<-5%", "--by"]
    assert main([*words, "platform=raw,container"]) == 4
    assert main([*words, "platform=raw,lxc"]) == 0
    assert "n is blocks of both" in capsys.readouterr().out


def test_its_document_fits_its_schema(tmp_path: Path, capsys: Captured) -> None:
    result = campaign(tmp_path / "r", {"raw": 1.0, "container": 0.9})
    assert main(["compare", str(result.directory), "--by", "platform", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["unit"] == "block"
    assert broken(document, document_schema("compare")) == []


@pytest.mark.parametrize(
    ("by", "says"),
    [
        ("frame_bites", '"frame_bites" is no factor of two levels'),
        ("frame_bytes", "there are: platform"),
        ("platform", "name two, as in --by platform=raw,container"),
        ("platform=raw", "name two"),
        ("platform=raw,raw", "name two"),
        ("platform=raw,contaner", '"contaner" is no level of platform; did you mean "container"?'),
        ("platform=raw,qemu", "the emulator's"),
    ],
)
def test_what_is_no_comparison_is_refused(by: str, says: str, tmp_path: Path) -> None:
    trials = [
        Made(name, block, emulated=name == "qemu")
        for name in ("raw", "container", "qemu")
        for block in range(2)
    ]
    result = make(tmp_path / "r", trials)
    with pytest.raises(InputError) as refused:
        read_levels(result, by)
    assert says in str(refused.value)


@pytest.mark.parametrize("words", [[], ["other", "--by", "platform"]], ids=["neither", "both"])
def test_one_of_two_comparisons(words: list[str], tmp_path: Path, capsys: Captured) -> None:
    result = campaign(tmp_path / "r", {"raw": 1.0, "container": 0.9})
    assert main(["compare", str(result.directory), *words]) == 2
    assert "vtax compare A --by platform=raw,container" in capsys.readouterr().err


RATES = st.lists(
    st.tuples(*[st.floats(1.0, 1e6, allow_nan=False)] * 2),
    min_size=2,
    max_size=12,
    unique_by=lambda pair: pair[0],
)


@given(RATES)
def test_paired_changes_are_paired_ratios(pairs: list[tuple[float, float]]) -> None:
    first, second = ([pair[side] for pair in pairs] for side in (0, 1))
    change, ratio = relative_change(first, second, paired=True), paired_ratio(*map(by_block, (second, first)))
    assert change is not None and ratio is not None
    assert change.interval.mean == pytest.approx(ratio.mean - 1, abs=1e-9)
    if np.ptp(np.log(second) - np.log(first)) > 1e-9:
        assert change.interval.low == pytest.approx((ratio.low or 0.0) - 1, abs=1e-9)


@given(RATES)
def test_paired_shifts_are_paired_differences(pairs: list[tuple[float, float]]) -> None:
    first, second = ([pair[side] for pair in pairs] for side in (0, 1))
    change = absolute_change(first, second, paired=True)
    difference = paired_difference(*map(by_block, (second, first)))
    assert change is not None and difference is not None
    assert change.interval.mean == pytest.approx(difference.mean, rel=1e-9, abs=1e-6)
    assert change.interval.high == pytest.approx(difference.high, rel=1e-6, abs=1e-6)


def by_block(values: list[float]) -> dict[int, float]:
    return dict(enumerate(values))


def test_pairs_lack_none() -> None:
    with pytest.raises(ValueError, match="no pairs"):
        relative_change([1.0, 2.0], [1.0, 2.0, 3.0], paired=True)


def test_pairs_find_what_sets_do_not() -> None:
    first = list(HOURS)
    second = [0.95 * rate * noise for rate, noise in zip(HOURS, NOISE, strict=True)]
    paired, apart = relative_change(first, second, paired=True), relative_change(first, second)
    assert paired is not None and apart is not None
    assert paired.p_below(0.0) < 0.001
    assert apart.p_below(0.0) > 0.2
    found, missed = paired.detectable_below(0.0, 0.025), apart.detectable_below(0.0, 0.025)
    assert found is not None and -0.02 < found < 0
    assert missed is None or missed < -0.3


def test_levels_that_are_one_file_are_said_to_be(tmp_path: Path, capsys: Captured) -> None:
    """Cells go by the paths' labels, and levels by the paths themselves."""
    paths = ("/builds/main/runc", "/builds/patch/runc")
    trials = [
        Made(
            "container", block, received_mbps=90.0 + block, further=(("platform.binary", path), ("mtu", mtu))
        )
        for path in paths
        for mtu in ("1500", "9000")
        for block in range(3)
    ]
    files = {path: {"sha256": "11" * 32} for path in paths}
    result = make(
        tmp_path / "r",
        trials,
        platforms={"container": {"title": "c", "kind": "container", "facts": {"files": files}}},
    )
    found = compared(result, "platform.binary")
    assert found.b == f"{tmp_path / 'r'}: platform.binary={paths[1]}"
    said = (
        "/builds/main/runc and /builds/patch/runc are one file by SHA-256: between them nothing differs (A/A)"
    )
    assert found.alike == [said]
    assert main(["compare", str(tmp_path / "r"), "--by", "platform.binary"]) == 0
    assert said in " ".join(capsys.readouterr().out.split())
    assert {change.cell for change in compared(result, "mtu").changes} == {
        "platform.binary=main/runc",
        "platform.binary=patch/runc",
    }
    assert main(["show", str(tmp_path / "r")]) == 0
    shown = capsys.readouterr().out
    assert "platform.binary = main/runc" in shown
    assert "Same file" in shown

"""The answer in words, for each thing that can be found."""

from pathlib import Path
from typing import Any

import pytest

from tests.helpers.results.builder import make
from tests.helpers.results.forwarding import Made, blocks, held
from vtax.model.sentence import Sentence
from vtax.views.summary import summarise

FLOOD: dict[str, Any] = {"offered_mbps": 900, "intended_mbps": None, "marks": ("generator-limited",)}


def say(directory: Path, trials: list[Made], **campaign: Any) -> dict[str, Sentence]:
    found = summarise(make(directory / "r", trials, **campaign)).sentences
    return {sentence.platform: sentence for sentence in found}


def test_a_clear_cost_is_said_with_its_interval(tmp_path: Path) -> None:
    trials = [
        *held([800, 810, 820]),
        *held([400, 404, 411], platform="container"),
    ]
    text = say(tmp_path, trials)["container"].text
    assert text.startswith("carries 50.0% fewer 64-byte frames than raw at no more than 0.5% loss (95%")
    assert "n = 3)" in text
    assert text.endswith("no trial left out.")


def test_an_interval_around_zero_is_not_significant_and_never_equality(tmp_path: Path) -> None:
    trials = [
        *held([500, 520, 480]),
        *held([490, 530, 485], platform="container"),
    ]
    text = say(tmp_path, trials)["container"].text
    assert text.startswith(
        "+0.3% throughput of 64-byte frames against raw at no more than 0.5% loss, not significant (95% interval −"
    )
    assert " to +" in text
    assert "fewer" not in text
    assert "equal" not in text


def test_an_added_delay_around_zero_is_shown_with_its_sign(tmp_path: Path) -> None:
    trials = [
        Made(platform, block, delay_ns=delay, host_percent=20.0 + cpu)
        for platform, delays, points in [
            ("raw", (5_000, 5_200, 5_400), (0.0, 0.5, 1.0)),
            ("container", (5_600, 5_100, 5_500), (0.3, 0.2, 1.6)),
        ]
        for block, (delay, cpu) in enumerate(zip(delays, points, strict=True))
    ]
    text = say(tmp_path, trials)["container"].text
    assert "at 100 Mbit/s +0.20 µs median one-way delay, not significant (95% interval −" in text
    assert "+0.2% of a CPU, not significant (95% interval −" in text


def test_two_maxima_at_the_ceiling_hide_the_cost(tmp_path: Path) -> None:
    trials = [*blocks([900, 899], **FLOOD), *blocks([899, 899], **FLOOD, platform="container")]
    text = say(tmp_path, trials)["container"].text
    assert text.startswith("carries at least 899.0 Mbit/s (")
    assert ", both at the generator's ceiling: the throughput cost cannot be measured" in text
    assert "against raw, not significant" not in text


def test_a_reference_at_the_ceiling_makes_the_cost_a_lower_bound(tmp_path: Path) -> None:
    trials = [*blocks([900, 900], **FLOOD), *held([450, 451], platform="container")]
    text = say(tmp_path, trials)["container"].text
    assert text.startswith(
        "carries at least 49.9% fewer 64-byte frames than raw at no more than 0.5% loss (95% interval from 49."
    )
    assert "n = 2; raw at the generator's ceiling)" in text


@pytest.mark.parametrize(
    ("raw", "container", "said"),
    [
        (("link-limited",), ("link-limited",), "both at the link's rate"),
        ((), (), "both at the load offered"),
        (
            ("link-limited",),
            ("generator-limited",),
            "raw at the link's rate and container at the generator's ceiling",
        ),
    ],
)
def test_two_lower_bounds_are_worded_by_what_bounded_them(
    tmp_path: Path, raw: tuple[str, ...], container: tuple[str, ...], said: str
) -> None:
    flood: dict[str, Any] = {"offered_mbps": 950, "intended_mbps": None}
    trials = [
        *blocks([950, 950, 950], **flood, marks=raw),
        *blocks([949, 949, 949], **flood, marks=container, platform="container"),
    ]
    found = say(tmp_path, trials)
    assert found["container"].text.startswith(
        "carries at least 949.0 Mbit/s (95% interval from 948.1, n = 3) of 64-byte frames and raw at least "
        f"950.0 Mbit/s (95% interval from 949.0, n = 3), {said}: the throughput cost cannot be measured"
    )
    for word in ("fewer", "more 64", "against raw, not significant"):
        assert word not in found["container"].text
    reason = {(): "the load offered"}.get(raw, "the link's rate")
    assert found["raw"].text.startswith(
        "carries at least 950.0 Mbit/s (1,349,432 frames/s) of 64-byte frames with no loss in 30,000 frames, "
        f"at {reason} (95% interval from 949.0, n = 3)"
    )


def test_a_gain_over_a_lower_bound_is_bounded_from_above(tmp_path: Path) -> None:
    trials = [
        *blocks([500, 501, 502], offered_mbps=502, intended_mbps=502),
        *held([800, 801, 802], platform="container"),
    ]
    text = say(tmp_path, trials)["container"].text
    assert text.startswith(
        "carries at most 59.9% more 64-byte frames than raw at no more than 0.5% loss (95% interval up to 60.3, n = 3; "
        "raw at the load offered)"
    )


def test_delay_is_that_of_the_highest_carried_load_where_both_have_one(tmp_path: Path) -> None:
    trials = [
        Made(platform, block, load, load, load, delay_ns=delay)
        for platform, load, delay in [
            ("raw", 100.0, 2_000),
            ("raw", 400.0, 2_000),
            ("raw", 800.0, None),
            ("container", 100.0, 3_000),
            ("container", 400.0, 4_000),
            ("container", 800.0, 5_000),
        ]
        for block in range(3)
    ]
    found = say(tmp_path, trials)
    assert "at 400 Mbit/s adds 2.00 µs to the median one-way delay" in found["container"].text
    assert "has a median one-way delay of 2.00 µs at 400 Mbit/s (" in found["raw"].text


def test_without_any_delay_cpu_is_that_of_the_highest_carried_load(tmp_path: Path) -> None:
    trials = [
        Made(platform, block, load, load, load, delay_ns=None, host_percent=cpu)
        for platform, load, cpu in [
            ("raw", 100.0, 10.0),
            ("raw", 400.0, 20.0),
            ("container", 100.0, 11.0),
            ("container", 400.0, 25.0),
        ]
        for block in range(3)
    ]
    text = say(tmp_path, trials)["container"].text
    assert "at 400 Mbit/s uses 5.0% of a CPU more" in text
    assert "delay" not in text


def test_one_repetition_has_no_interval(tmp_path: Path) -> None:
    trials = [*held([800]), *held([400], platform="container")]
    text = say(tmp_path, trials)["container"].text
    assert text.startswith("carries 50.0% fewer 64-byte frames than raw at no more than 0.5% loss (n = 1, no")


def test_delay_and_cpu_are_those_of_the_highest_load_that_both_carried(tmp_path: Path) -> None:
    trials = [
        Made(platform, block, received, load, load, delay_ns=delay + 10 * block, host_percent=cpu + block)
        for platform, load, received, delay, cpu in [
            ("raw", 100.0, 100.0, 2_000, 10.0),
            ("raw", 400.0, 400.0, 2_000, 20.0),
            ("raw", 800.0, 800.0, 2_000, 40.0),
            ("container", 100.0, 100.0, 3_000, 15.0),
            ("container", 400.0, 400.0, 4_000, 30.0),
            ("container", 800.0, 500.0, 90_000, 90.0),
        ]
        for block in range(3)
    ]
    text = say(tmp_path, trials)["container"].text
    assert "at 400 Mbit/s adds 2.00 µs to the median one-way delay (95% interval" in text
    assert "uses 10.0% of a CPU more (95% interval 9.9 to 10.1, n = 3)" in text


def test_what_was_left_out_is_said(tmp_path: Path) -> None:
    trials = [
        *held([800, 800, 800]),
        *held([400, 400, 400], platform="container"),
        Made("container", 0, intended_mbps=None, verdict="invalid", reasons=("clock",)),
    ]
    assert say(tmp_path, trials)["container"].text.endswith("; 14% of these trials left out as invalid.")


def test_emulated_platforms_get_absolute_values_and_the_relation_within_their_group(tmp_path: Path) -> None:
    trials = [
        *held([800, 801]),
        *held([50, 51], platform="qemu-virtio", emulated=True),
        *held([25, 25.5], platform="qemu-e1000", emulated=True),
    ]
    found = say(tmp_path, trials)
    first, second = found["qemu-virtio"], found["qemu-e1000"]
    assert (first.group, second.group) == ("emulated", "emulated")
    assert first.text.startswith(
        "carries 50.5 Mbit/s (71,733 frames/s) of 64-byte frames with no loss in 20,000"
    )
    assert second.text.startswith("carries 25.2 Mbit/s (35,866 frames/s) of 64-byte frames")
    assert "carries 50.0% fewer 64-byte frames than qemu-virtio at no more than 0.5% loss" in second.text
    assert "raw" not in first.text + second.text


def test_without_raw_no_cost_is_given(tmp_path: Path) -> None:
    text = say(tmp_path, held([400, 400], platform="container"))["container"].text
    assert text.startswith("carries 400.0 Mbit/s (568,182 frames/s) of 64-byte frames with no loss")
    assert "cannot be compared with raw: raw has no usable trial here" in text


@pytest.mark.parametrize("fix", ["apt-get install runc", None])
def test_a_skipped_platform_is_said_with_reason_and_fix(tmp_path: Path, fix: str | None) -> None:
    skipped = {"skipped": {"reason": "runc is not installed", "remedy": fix}}
    sentence = say(tmp_path, [Made()], platforms={"raw": {}, "container": skipped})["container"]
    assert sentence.group == "skipped"
    assert sentence.text.startswith("was skipped: runc is not installed")
    assert fix is None or fix in sentence.text

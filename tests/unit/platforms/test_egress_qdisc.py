"""The queueing discipline that a guest sends through: read as tc reads it, or refused."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.egress_qdisc import SCENARIO
from vtax.campaign.platform_set import resolve
from vtax.inputs import InputError
from vtax.platforms import presets
from vtax.platforms.egress_qdisc import GuestConfig, Netem, Tbf, parse_qdisc
from vtax.scenario import load_scenario

WORDS = ["netem", "tbf", "loss", "delay", "rate", "burst", "limit", "1%", "1ms", "8kb", "9", "²"]
UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def test_the_kernels_own_is_none() -> None:
    assert parse_qdisc("default") is None
    assert GuestConfig().egress is None
    assert GuestConfig().qdisc_modules == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("netem delay 1ms 200us", Netem(delay_ns=1_000_000, jitter_ns=200_000)),
        ("netem loss 0.01%", Netem(loss_ratio=0.0001)),
        ("netem duplicate 1%", Netem(duplicate_ratio=0.01)),
        ("netem delay 1.5ms reorder 10%", Netem(delay_ns=1_500_000, reorder_ratio=0.1)),
        (
            "netem loss 1% delay 1ms limit 50",
            Netem(loss_ratio=0.01, delay_ns=1_000_000, limit_packets=50),
        ),
        ("tbf rate 50mbit burst 8kb limit 64kb overhead 24", Tbf(50_000_000, 8192, 65536, 24)),
        ("tbf limit 3000b burst 1514b rate 0.5gbit", Tbf(500_000_000, 1514, 3000)),
    ],
)
def test_a_discipline_is_read_as_tc_reads_it(text: str, expected: Netem | Tbf) -> None:
    assert parse_qdisc(text) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is no queueing discipline; allowed: default, netem"),
        ("default loss 1%", "is no queueing discipline"),
        ("fq_codel", "'fq_codel' is no queueing discipline"),
        ("netem lose 1%", "netem: 'lose' is unknown; allowed, once each: limit, delay, loss"),
        ("netem loss 1% loss 2%", "netem: 'loss' is twice"),
        ("netem loss", "netem: loss needs a percentage"),
        ("netem loss 1", "netem: loss: '1' is not a percentage as in 1%"),
        ("netem loss 0%", "allowed: more than 0%, at most 100%"),
        ("netem loss 101%", "allowed: more than 0%, at most 100%"),
        ("netem loss 1% 25%", "netem: '25%' is unknown"),
        ("netem delay 1", "netem: delay: '1' is not a time as in 1ms"),
        ("netem delay 2s", "allowed: whole ns, 0 to 1000000000"),
        ("netem delay 0.5ns", "allowed: whole ns"),
        ("netem delay 1ms 2ms", "allowed: at most the delay"),
        ("netem reorder 1%", "reorder without delay"),
        ("netem limit 0", "allowed: whole packets, 1 to 1000000"),
        ("tbf rate 50mbit burst 8kb", "tbf needs limit, as in tbf rate"),
        ("tbf rate 50 burst 8kb limit 64kb", "'50' is not a rate as in 50mbit"),
        ("tbf rate 50mbit burst 1kb limit 64kb", "allowed: whole bytes, 1514 to"),
    ],
)
def test_what_is_allowed_is_said(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        parse_qdisc(text)


@given(
    delay=st.integers(0, 1000),
    jitter=st.integers(0, 1000),
    unit=st.sampled_from(["ms", "us", "ns"]),
    percent=st.integers(1, 10**6),
)
def test_times_and_shares_keep_their_value(delay: int, jitter: int, unit: str, percent: int) -> None:
    share = f"{percent / 10**4:f}%"
    text = f"netem delay {delay}{unit} {min(delay, jitter)}{unit} loss {share} duplicate {share}"
    expected = Netem(
        delay_ns=delay * UNITS[unit],
        jitter_ns=min(delay, jitter) * UNITS[unit],
        loss_ratio=percent / 10**6,
        duplicate_ratio=percent / 10**6,
    )
    assert parse_qdisc(text) == expected


@given(st.text() | st.lists(st.sampled_from(WORDS)).map(" ".join))
def test_any_text_is_read_or_refused_in_one_sentence(text: str) -> None:
    try:
        qdisc = parse_qdisc(text)
    except ValueError as error:
        assert "\n" not in str(error) and len(str(error)) < 300 + 4 * len(text)
    else:
        assert qdisc is None or 0 <= getattr(qdisc, "loss_ratio", 0) <= 1


def test_raw_has_no_such_key() -> None:
    having = {name for name, preset in presets().items() if "egress_qdisc" in preset.keys}
    assert "raw" not in having
    assert {"qemu-virtio", "container", "lxc"} <= having


def test_a_wrong_discipline_is_refused_where_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_text(SCENARIO.replace("loss 10%", "loss 10"))
    scenario = load_scenario(str(path)).override(["container"], [])
    with pytest.raises(InputError, match=r"scenario.yaml:9.*netem: loss: '10' is not a percentage"):
        resolve(scenario, scenario.cells())

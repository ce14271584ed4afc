"""How far clocks are apart, and what is known of that."""

import itertools
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtax.machine.chrony import read_tracking, time_error_ns
from vtax.testbed import clocks
from vtax.testbed.clocks import Clock, ClockAhead, compare, exchange
from vtax.testbed.remote import SeveralMachines, read_testbed
from vtax.testbed.remote.machine import RemoteMachine

TRACKING = "C0A80001,192.168.0.1,2,1700000000.5,-0.000012,0.000001,0.000002,-1.2,0.001,0.01,0.0003,0.00004,64.2,Normal"
LAB = """
name: lab
machines: {gen: {ssh: gen}, uut: {ssh: uut}, copy: {ssh: copy}}
roles: {source: gen, uut: uut, sink: copy}
links: [{from: gen/a, to: uut/a}, {from: uut/b, to: copy/b}]
"""

nanoseconds = st.integers(-(10**18), 10**18)
errors = st.integers(0, 10**9)


def ahead(ahead_ns: int, error_ns: int) -> ClockAhead:
    return ClockAhead(ahead_ns, error_ns, "exchange")


@given(st.lists(st.tuples(errors, errors), min_size=clocks.EXCHANGES, max_size=clocks.EXCHANGES), nanoseconds)
def test_an_exchange_bounds_its_error(ways: list[tuple[int, int]], truth_ns: int) -> None:
    """Whatever the way there and the way back take, the truth is within the bound of the quickest."""
    now = 0
    left = iter(ways)

    def ask() -> int:
        nonlocal now
        there, back = next(left)
        now += there
        told = now + truth_ns
        now += back
        return told

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clocks.time, "monotonic_ns", lambda: now)
        found = exchange(ask)
    low, high = found.bounds_ns
    assert low <= truth_ns <= high
    assert found.error_ns <= min(map(sum, ways)) // 2 + 2


@given(
    nanoseconds,
    nanoseconds,
    *itertools.repeat(errors, 2),
    st.floats(-1, 1),
    st.floats(-1, 1),
    st.floats(0, 1),
)
def test_clocks_that_drift_stay_within_the_bound_of_both_comparisons(
    before: int, after: int, error: int, later_error: int, off: float, later_off: float, share: float
) -> None:
    """At any share of the time between two comparisons, of which each is off by no more than it says."""
    first = ahead(before + int(off * error), error)
    last = ahead(after + int(later_off * later_error), later_error)
    meanwhile = before + (after - before) * Fraction(
        share
    )  # no float has all the digits of so many nanoseconds
    assert abs(meanwhile - first.ahead_ns) <= first.error_until_ns(last)


class TestTwoMachines:
    def test_what_is_asked_of_both_adds_up(self) -> None:
        found = compare(Clock(ahead(100, 7), 0, None), Clock(ahead(-50, 5), 0, 3))
        assert found == ClockAhead(-150, 12, "exchange")

    def test_chrony_is_taken_where_it_knows_better(self) -> None:
        one = Clock(ahead(0, 90_000), 1_000_000, 5_000)
        other = Clock(ahead(40_000, 90_000), 950_000, 4_000)
        found = compare(one, other)
        assert (found.ahead_ns, found.by) == (50_000, "chrony")
        assert found.error_ns == 9_000 + 2 * clocks.READ_ERROR_NS

    def test_copies_of_a_machine_are_found_out_by_their_clocks(self, tmp_path: Path) -> None:
        path = tmp_path / "lab.yaml"
        path.write_text(LAB)
        lab = SeveralMachines(read_testbed(path))
        machines = [RemoteMachine(name, ["true"], tmp_path / name) for name in ("gen", "uut", "copy")]
        for machine, ahead_ns in zip(machines, (0, 900, 50_000), strict=True):
            machine.clock_identity = "the same"
            machine.exchange_clocks = lambda ahead_ns=ahead_ns: ahead(ahead_ns, 500)  # type: ignore[method-assign]
        same, other = [lab._share_a_clock(machines[0], machine) for machine in machines[1:]]
        assert (same, other) == (True, False)
        machines[1].clock_identity = "another"
        assert not lab._share_a_clock(machines[0], machines[1])

    def test_chrony_is_not_taken_where_it_knows_less(self) -> None:
        one, other = Clock(ahead(0, 90), 0, 5_000), Clock(ahead(40, 90), 0, 4_000)
        assert compare(one, other) == ClockAhead(40, 180, "exchange")

    def test_chrony_is_not_believed_against_what_was_seen(self) -> None:
        one, other = Clock(ahead(0, 90_000), 0, 5_000), Clock(ahead(4_000_000, 90_000), 0, 4_000)
        assert compare(one, other).by == "exchange"


class TestChrony:
    def test_its_bound(self) -> None:
        assert read_tracking(TRACKING + "\n") == 12_000 + 40_000 + 150_000

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "506 Cannot talk to daemon\n",
            TRACKING.replace("C0A80001", "7F7F0101"),
            TRACKING.replace("C0A80001", "00000000"),
            TRACKING.replace("Normal", "Not synchronised"),
            TRACKING.replace("0.0003", "nan"),
            TRACKING.replace("0.0003", "x"),
            TRACKING + "\n" + TRACKING,
        ],
    )
    def test_who_follows_nobody_has_none(self, text: str) -> None:
        assert read_tracking(text) is None

    @pytest.mark.slow
    @pytest.mark.fuzz
    @given(st.text() | st.lists(st.text(max_size=12), min_size=14, max_size=14).map(",".join))
    def test_whatever_it_says_is_no_error(self, text: str) -> None:
        assert (read_tracking(text) or 0) >= 0

    def test_where_it_is_absent_nothing_is_known(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", "/nowhere")
        assert time_error_ns() is None

    def test_where_it_hangs_nothing_is_known(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        hanging = tmp_path / "chronyc"
        hanging.write_text("#!/bin/sh\nexec sleep 60\n")
        hanging.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        monkeypatch.setattr("vtax.machine.chrony.ANSWER_LIMIT_S", 0.2)
        assert time_error_ns() is None

"""The gate's rules on quads with a known effect, false alarms where nothing changed, and the files they come from."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from validation.long import __main__ as long
from validation.long import builds, campaigns, gate
from validation.long.builds import Run
from validation.long.campaigns import PAIRS, Pair
from validation.long.quads import EFFECTS, Quad
from validation.long.rows import append, read
from validation.long.rules import Permuted, by_turns, fixed, most_alarms


def quads(effect_percent: int, count: int = 24, scatter: float = 0.01, seed: int = 1) -> list[Quad]:
    rng = np.random.default_rng([seed, abs(effect_percent)])

    def fps(share: float) -> float:
        return float(400_000 * share * (1 + scatter * rng.standard_normal()))

    b = 1 - effect_percent / 100
    return [
        Quad(
            "2026-11-29T10:00:00Z",
            "2 CPUs",
            number,
            effect_percent,
            float(effect_percent),
            "ABBA",
            fps(1),
            fps(1),
            fps(b),
            fps(b),
            4.0,
        )
        for number in range(count)
    ]


@pytest.mark.parametrize(("effect_percent", "slower"), [(12, True), (0, False), (-12, False)])
def test_each_rule_calls_b_slower_where_it_is(effect_percent: int, slower: bool) -> None:
    found = quads(effect_percent, 12)
    permuted = Permuted.of(found, np.random.default_rng(1))
    assert by_turns(found).slower is slower
    assert fixed(found).slower is slower
    assert permuted.slower(0.01, 0.05) is slower
    assert permuted.change == pytest.approx(-effect_percent / 100, abs=0.01)


def test_by_turns_it_stops_when_it_is_decided() -> None:
    assert by_turns(quads(12, 12)).quads < by_turns(quads(0, 12)).quads == 12


def test_less_than_five_percent_is_nothing_to_the_published_rule() -> None:
    permuted = Permuted.of(quads(3, 12), np.random.default_rng(1))
    assert permuted.p_value < 0.001
    assert not permuted.slower(0.01, 0.05)


def test_the_gates_are_held_against_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "SWAPS", 100)
    found = gate.section([quad for effect in EFFECTS for quad in quads(effect)])
    assert [check.what for check in found.checks if not check.holds] == []
    assert len(found.checks) == 3 + len(EFFECTS) - 1
    assert "Firecracker 0%" in found.checks[3].measured


def test_a_gate_that_is_behind_misses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "SWAPS", 100)
    monkeypatch.setattr(gate, "by_turns", lambda found: dataclasses.replace(by_turns(found), slower=False))
    found = gate.section([quad for effect in EFFECTS for quad in quads(effect)])
    assert [check.holds for check in found.checks][-2:] == [False, False]


def test_quads_come_back_from_their_file(tmp_path: Path) -> None:
    path = tmp_path / "quads.csv"
    assert read(path, Quad) == []
    first, second = quads(3, 2), quads(5, 2)
    append(path, first)
    append(path, second)
    assert read(path, Quad) == [*first, *second]


def test_words_are_no_minutes(capsys: pytest.CaptureFixture[str]) -> None:
    assert long.main(["soon"]) == 2
    assert "not a number of minutes: soon" in capsys.readouterr().err


def pair(alarms: int = 0, assumed_alarms: int = 0) -> Pair:
    return Pair("2026-11-30T10:00:00Z", "2 CPUs", 1.1, 30, 40, alarms, 20, assumed_alarms, 0)


def run(broken: int = 0) -> Run:
    return Run("2026-11-30T10:00:00Z", "2 CPUs", 8, 6, 16, broken, 0, 180.0)


def test_as_many_false_alarms_as_chance_allows_hold() -> None:
    most = most_alarms(PAIRS)
    assert 1 <= most < PAIRS / 4
    found = campaigns.section([pair(3)] * most + [pair()] * (PAIRS - most))
    assert [check.holds for check in found.checks] == [True, True, True]
    assert found.checks[0].measured.startswith(f"{most} of {PAIRS} (")
    assert "50% of 800 changes same" in found.checks[0].measured
    found = campaigns.section([pair(0, 1)] * (most + 1) + [pair()] * (PAIRS - most - 1))
    assert [check.holds for check in found.checks] == [True, False, True]


def test_a_run_is_one_alarm_however_many_of_its_rules_are_broken() -> None:
    found = builds.section([run(16), *[run()] * 12])
    assert found.checks[0].holds
    assert found.checks[0].measured.startswith("1 of 13 (")
    assert "16 of 208 rules on 104 cells" in found.checks[0].measured
    assert not builds.section([run(1)] * 13).checks[0].holds


@pytest.mark.parametrize("row", [pair(), run()])
def test_pairs_and_runs_come_back_from_their_files(row: Pair | Run, tmp_path: Path) -> None:
    append(tmp_path / "rows.csv", [row])
    assert read(tmp_path / "rows.csv", type(row)) == [row]

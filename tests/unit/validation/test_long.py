"""The gate's rules on quads with a known effect, and the file that they come from."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from validation.long import __main__ as long
from validation.long import gate
from validation.long.quads import EFFECTS, Quad, append, read
from validation.long.rules import Permuted, by_turns, changes_of, fixed


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
    assert by_turns(changes_of(found)).slower is slower
    assert fixed(changes_of(found)).slower is slower
    assert permuted.slower(0.01, 0.05) is slower
    assert permuted.change == pytest.approx(-effect_percent / 100, abs=0.01)


def test_by_turns_it_stops_when_it_is_decided() -> None:
    assert by_turns(changes_of(quads(12, 12))).quads < by_turns(changes_of(quads(0, 12))).quads == 12


def test_less_than_five_percent_is_nothing_to_the_published_rule() -> None:
    permuted = Permuted.of(quads(3, 12), np.random.default_rng(1))
    assert permuted.p_value < 0.001
    assert not permuted.slower(0.01, 0.05)


def test_the_gates_are_held_against_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "SWAPS", 100)
    monkeypatch.setattr(gate, "MOST_ALARMS", 9)
    found = gate.section([quad for effect in EFFECTS for quad in quads(effect)])
    assert [check.what for check in found.checks if not check.holds] == []
    assert len(found.checks) == 3 + len(EFFECTS) - 1
    assert "Firecracker 0%" in found.checks[3].measured


def test_a_gate_that_is_behind_misses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "SWAPS", 100)
    monkeypatch.setattr(
        gate, "by_turns", lambda changes: dataclasses.replace(by_turns(changes), slower=False)
    )
    found = gate.section([quad for effect in EFFECTS for quad in quads(effect)])
    assert [check.holds for check in found.checks][-2:] == [False, False]


def test_quads_come_back_from_their_file(tmp_path: Path) -> None:
    path = tmp_path / "quads.csv"
    assert read(path) == []
    first, second = quads(3, 2), quads(5, 2)
    append(path, first)
    append(path, second)
    assert read(path) == [*first, *second]


def test_words_are_no_minutes(capsys: pytest.CaptureFixture[str]) -> None:
    assert long.main(["soon"]) == 2
    assert "not a number of minutes: soon" in capsys.readouterr().err

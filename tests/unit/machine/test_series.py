"""Answers that come in parts: what ends a series, and what a lying agent cannot do with one."""

import itertools
from collections.abc import Callable

import pytest

from vtax.machine.agent import AgentBreach, AgentGone
from vtax.machine.series import Part, read_series

ITEMS = [*range(10)]


def read(ask: Callable[[int, float], Part[int]], most: int = 10, **options: bool) -> list[int]:
    return read_series("guest", "client.samples", "ns", most, ask, 1.0, **options)


def test_a_series_is_read_to_its_end() -> None:
    assert read(lambda first, _: (ITEMS[first : first + 3], 10)) == ITEMS
    assert read(lambda first, _: ([], 0)) == []


@pytest.mark.parametrize(
    ("ask", "problem"),
    [
        (lambda first, _: ([], 10), "ns: none after 0 of 10"),
        (lambda first, _: (ITEMS[first : first + 3] if first < 6 else [], 10), "ns: none after 6 of 10"),
        (lambda first, _: (ITEMS[:6], 10), "ns: 12 of 10"),
        (lambda first, _: ([1], 11), "ns: 11 in all, of at most 10"),
        (lambda first, _: ([1], 5 - first), "ns: 4 in all, after 5"),
        (lambda first, _: ([1], 5 + first), "ns: 6 in all, after 5"),
    ],
)
def test_what_cannot_be_a_series_is_a_breach(ask: Callable[[int, float], Part[int]], problem: str) -> None:
    """Before, an empty part was asked for again for ever, and full ones were kept without end."""
    asked = itertools.count()

    def counted(first: int, left_s: float) -> Part[int]:
        assert next(asked) < 20
        return ask(first, left_s)

    with pytest.raises(AgentBreach) as caught:
        read(counted)
    assert str(caught.value) == f"guest: answered client.samples with what cannot be true ({problem})"


def test_a_series_that_grows_has_an_end_as_well() -> None:
    assert read(lambda first, _: ([first], min(5, first + 2)), grows=True) == [0, 1, 2, 3, 4]
    assert read(lambda first, _: ([first] if first < 3 else [], 9), grows=True, may_stop=True) == [0, 1, 2]
    with pytest.raises(AgentBreach, match="11 in all, of at most 10"):
        read(lambda first, _: ([first], first + 2), grows=True)


def test_a_series_has_a_deadline_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    now = itertools.count(0.0, 0.3)
    monkeypatch.setattr("vtax.machine.series.time.monotonic", lambda: next(now))
    left: list[float] = []

    def slowly(first: int, left_s: float) -> Part[int]:
        left.append(round(left_s, 1))
        return [first], 10

    with pytest.raises(
        AgentGone, match=r"^guest: answers to client.samples not complete within 1 s \(3 of 10 ns\)$"
    ):
        read(slowly)
    assert left == [0.7, 0.4, 0.1]

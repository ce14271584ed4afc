"""Answers of agents that are not true: what a hostile guest may make of a real answer."""

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

Steps = list[str | int]

WORDS = (
    "",
    "\x1b[2J\x07",
    "raw\n\nraw",
    "\u202e",
    "x" * 4000,
    "nan",
    "-1",
    "\x00",
    "../../etc",
    "=cmd|' /C'",
)
NUMBERS = (
    -1,
    0,
    1,
    2,
    2**31,
    2**53,
    2**62,
    2**63 - 1,
    2**63,
    2**64,
    10**30,
    -(2**63),
    0.5,
    -0.5,
    1e308,
    1e18,
)
OTHERS: tuple[Any, ...] = (None, True, False, [], {}, [[]], "lie", 7, {"kind": "lie"})


def places(value: Any, at: Steps | None = None) -> Iterator[Steps]:
    """Where something stands in a JSON value, the value itself first."""
    at = at or []
    yield at
    if isinstance(value, dict):
        for key, each in value.items():
            yield from places(each, [*at, key])
    elif isinstance(value, list):
        for number, each in enumerate(value[:40]):
            yield from places(each, [*at, number])


class Liar:
    """Makes one lie of an answer, by a seeded chance."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)  # noqa: S311 - repeatable, and no secret
        self.told = 0
        """How many lies there were."""

    def lie(self, answer: Any) -> Any:
        """Return another answer than that."""
        changed = json.loads(json.dumps(answer))
        for _ in range(20):
            act = self.chance.choice(ACTS)
            made = self._change(changed, act)
            if json.dumps(made) != json.dumps(answer):
                break
        self.told += 1
        return made

    def _change(self, answer: Any, act: "Act") -> Any:
        whole = {"answer": answer}
        within = list(places(answer))
        at = ["answer", *self.chance.choice(within)]
        if self.chance.random() < 0.7:  # most lies are small
            leaves = [each for each in within if not isinstance(_get(answer, each), dict | list)]
            if leaves:
                at = ["answer", *self.chance.choice(leaves)]
        holder = _get(whole, at[:-1])
        act(self.chance, holder, at[-1])
        return whole.get("answer", {})


Act = Callable[[random.Random, Any, Any], None]


def _get(value: Any, at: Steps) -> Any:
    for step in at:
        value = value[step]
    return value


def drop(chance: random.Random, holder: Any, key: Any) -> None:
    """Leave it out."""
    del holder[key]


def add(chance: random.Random, holder: Any, key: Any) -> None:
    """Put something beside it."""
    if isinstance(holder, dict):
        holder[chance.choice(("lie", "id", "kind", ""))] = chance.choice(OTHERS)
    else:
        holder.append(chance.choice(OTHERS))


def retype(chance: random.Random, holder: Any, key: Any) -> None:
    """Have it be of another type."""
    holder[key] = chance.choice(OTHERS)


def number(chance: random.Random, holder: Any, key: Any) -> None:
    """Have a number be another one, of the same type where it is whole."""
    if isinstance(holder[key], int | float | None) and not isinstance(holder[key], bool):
        whole = isinstance(holder[key], int)
        holder[key] = chance.choice([each for each in NUMBERS if not whole or isinstance(each, int)])


def scale(chance: random.Random, holder: Any, key: Any) -> None:
    """Have a number be about as large, or far greater or smaller."""
    value = holder[key]
    if isinstance(value, bool):
        holder[key] = not value
    elif isinstance(value, int):
        holder[key] = int(value * chance.choice((0, 0.5, 0.99, 2, 1000, 10**9))) + chance.randint(-1, 1)
    elif isinstance(value, float):
        holder[key] = value * chance.choice((-1, 0, 0.5, 2, 1e6))


def word(chance: random.Random, holder: Any, key: Any) -> None:
    """Have a word be another one."""
    if isinstance(holder[key], str):
        holder[key] = chance.choice((*WORDS, holder[key][: len(holder[key]) // 2], holder[key] * 2))


def empty(chance: random.Random, holder: Any, key: Any) -> None:
    """Leave out what a list holds."""
    if isinstance(holder[key], list):
        holder[key] = []


def repeat(chance: random.Random, holder: Any, key: Any) -> None:
    """Say what a list holds again."""
    if isinstance(holder[key], list):
        holder[key] = (holder[key] * chance.choice((2, 30)))[:3000]


def shuffle(chance: random.Random, holder: Any, key: Any) -> None:
    """Put what a list holds into another order, or leave some of it out."""
    if isinstance(holder[key], list):
        holder[key] = chance.sample(holder[key], chance.randint(0, len(holder[key])))


def nest(chance: random.Random, holder: Any, key: Any) -> None:
    """Put it deep inside lists."""
    for _ in range(200):
        holder[key] = [holder[key]]


ACTS: tuple[Act, ...] = (drop, add, retype, number, number, scale, scale, word, empty, repeat, shuffle, nest)

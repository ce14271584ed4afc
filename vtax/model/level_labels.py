"""Levels of a factor as tables show them: of paths, what tells them apart."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence

from vtax.inputs import one_line

MOST_CHARACTERS = 32
"""Of a path's label, where others can be told from it by so many."""


def level_labels(levels: Iterable[str]) -> dict[str, str]:
    """Return a label for each level: of a full path the least that no other level has, of another level itself.

    That is the file's name, or that behind the directory where paths part, or all from there on; the whole path where
    nothing less will do.
    """
    found = dict.fromkeys(levels)
    paths = [level for level in found if level.startswith("/")]
    others = {level: level for level in found if level not in paths}
    if not paths:
        return others
    parts = {path: [part for part in path.split("/") if part] for path in paths}
    above = zip(*(each[:-1] for each in parts.values()), strict=False)
    common = sum(1 for _ in itertools.takewhile(lambda names: len({*names}) == 1, above))
    ways: tuple[Callable[[str], str], ...] = (
        lambda path: "/".join(parts[path][-1:]),
        lambda path: _ends(parts[path][common:]),
        lambda path: "/".join(parts[path][common:]),
        lambda path: path,
    )
    for most, way in itertools.product((MOST_CHARACTERS, None), ways):
        labels = {path: _clipped(one_line(way(path)), most) for path in paths}
        if _are_distinct({**others, **labels}):
            return {**others, **labels}
    return {**others, **{path: path for path in paths}}


def _ends(parts: Sequence[str]) -> str:
    return "/".join(parts if len(parts) < 3 else (parts[0], "…", parts[-1]))


def _clipped(label: str, most: int | None) -> str:
    if most is None or len(label) <= most:
        return label
    half = most // 2
    return f"{label[: half - 1]}…{label[-half:]}"


def _are_distinct(labels: Mapping[str, str]) -> bool:
    return len({*labels.values()}) == len(labels)

"""A campaign.json that somebody edited: what has another shape than vtax writes is left out, and named."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from vtax.scenario.workloads import KINDS

ANY: Final = "*"
MAPPING, LIST, TEXT, NUMBER, WHOLE = "a mapping", "a list", "text", "a number", "a whole number"
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    MAPPING: (dict,),
    LIST: (list,),
    TEXT: (str,),
    NUMBER: (int, float),
    WHOLE: (int,),
}
_SHAPES: Final[Mapping[tuple[str, ...], str]] = {
    ("name",): TEXT,
    ("status",): TEXT,
    ("seed",): WHOLE,
    ("created_at",): TEXT,
    ("finished_at",): TEXT,
    ("vtax_version",): TEXT,
    ("command",): LIST,
    ("factors",): LIST,
    ("blocks",): LIST,
    ("blocks", ANY): WHOLE,
    ("testbeds",): MAPPING,
    ("testbeds", ANY): MAPPING,
    ("ceilings",): LIST,
    ("ceilings", ANY): MAPPING,
    ("testbed",): MAPPING,
    ("hosts",): MAPPING,
    ("hosts", ANY): MAPPING,
    ("platforms",): MAPPING,
    ("platforms", ANY): MAPPING,
    ("platforms", ANY, "facts"): MAPPING,
    ("platforms", ANY, "skipped"): MAPPING,
    ("scenario",): MAPPING,
    ("scenario", "name"): TEXT,
    ("scenario", "title"): TEXT,
    ("scenario", "question"): TEXT,
    ("scenario", "source"): MAPPING,
    ("scenario", "source", "paper"): TEXT,
    ("scenario", "workload"): MAPPING,
    ("scenario", "workload", "kind"): TEXT,
    ("scenario", "testbed"): MAPPING,
    ("scenario", "testbed", "link_mbps"): NUMBER,
    ("scenario", "platform"): MAPPING,
    ("scenario", "factors"): MAPPING,
    ("scenario", "factors", ANY): LIST,
    ("scenario", "repetitions"): WHOLE,
    ("scenario", "precision"): MAPPING,
    ("scenario", "search"): MAPPING,
    ("scenario", "figures"): LIST,
    ("scenario", "figures", ANY): TEXT,
}
"""By the path of a key; null is allowed everywhere."""
_WORDS: Final[Mapping[tuple[str, ...], str]] = {("scenario", "testbed", "link_mbps"): "unlimited"}
"""What a scenario says where there is nothing of that shape, which is as good as a key that is left out."""


def mend(campaign: dict[str, Any]) -> list[str]:
    """Take out of `campaign`, in place, whatever has another shape; a sentence for each."""
    problems = []
    for path, shape in _SHAPES.items():
        for holder, name, at in list(_places(campaign, path, ())):
            if holder[name] is None or _is(holder[name], shape):
                continue
            if holder[name] != _WORDS.get(path):
                problems.append(f"campaign.json: {at} is not {shape}; it is read as if it were not there")
            _take_out(holder, name)
    for path in {path[:-1] for path in _SHAPES if path[-1] == ANY}:
        for holder, name, _ in list(_places(campaign, path, ())):
            holder[name] = _without_nulls(holder[name])
    kind = ((campaign.get("scenario") or {}).get("workload") or {}).get("kind")
    if kind is not None and kind not in KINDS:
        problems.append(f"campaign.json: scenario.workload.kind is {kind!r}; there are: {', '.join(KINDS)}")
        del campaign["scenario"]["workload"]["kind"]
    return problems


def _take_out(holder: Any, name: Any) -> None:
    """Leave a key out; an item of a list becomes null first, so that the others keep their places."""
    if isinstance(holder, list):
        holder[name] = None
    else:
        del holder[name]


def _places(node: Any, path: tuple[str, ...], above: tuple[str, ...]) -> Iterator[tuple[Any, Any, str]]:
    """Each place that the path leads to: what holds it, its key there, and its name."""
    keys: Any = ()
    if path[0] == ANY:
        keys = range(len(node)) if isinstance(node, list) else node if isinstance(node, dict) else ()
    elif isinstance(node, dict) and path[0] in node:
        keys = path[:1]
    for key in keys:
        at = (*above, str(key))
        if len(path) == 1:
            yield node, key, ".".join(at)
        else:
            yield from _places(node[key], path[1:], at)


def _is(value: Any, shape: str) -> bool:
    return isinstance(value, _TYPES[shape]) and not isinstance(value, bool)


def _without_nulls(node: Any) -> Any:
    if isinstance(node, list):
        return [item for item in node if item is not None]
    return {name: item for name, item in node.items() if item is not None} if isinstance(node, dict) else node

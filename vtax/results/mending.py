"""A campaign.json that somebody edited: what has another shape than vtax writes is left out, and named."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

ANY: Final = "*"
MAPPING, LIST, TEXT, NUMBER, WHOLE, NAME, FLAG = (
    "a mapping",
    "a list",
    "text",
    "a number",
    "a whole number",
    "a name",
    "true or false",
)
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    MAPPING: (dict,),
    LIST: (list,),
    TEXT: (str,),
    NUMBER: (int, float),
    WHOLE: (int,),
    NAME: (str,),
    FLAG: (bool,),
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
    ("factors", ANY): NAME,
    ("columns",): LIST,
    ("columns", ANY): MAPPING,
    ("columns", ANY, "name"): NAME,
    ("columns", ANY, "type"): TEXT,
    ("columns", ANY, "unit"): TEXT,
    ("columns", ANY, "meaning"): TEXT,
    ("blocks",): LIST,
    ("blocks", ANY): WHOLE,
    ("testbeds",): MAPPING,
    ("testbeds", ANY): MAPPING,
    ("ceilings",): LIST,
    ("ceilings", ANY): MAPPING,
    ("testbed",): MAPPING,
    ("testbed", "cpus", "host", ANY): WHOLE,
    ("testbed", "cpus", "guests", ANY): WHOLE,
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
    ("scenario", "factors", "platform", ANY): TEXT,
    ("scenario", "repetitions"): WHOLE,
    ("scenario", "precision"): MAPPING,
    ("scenario", "search"): MAPPING,
    ("scenario", "ab"): MAPPING,
    ("scenario", "ab", "by"): TEXT,
    ("scenario", "ab", "fail_on"): TEXT,
    ("scenario", "ab", "fixed"): FLAG,
    ("scenario", "figures"): LIST,
    ("scenario", "figures", ANY): TEXT,
}
"""By the path of a key, as StoredCampaign has them; null is allowed everywhere."""
_WORDS: Final[Mapping[tuple[str, ...], str]] = {("scenario", "testbed", "link_mbps"): "unlimited"}
"""What a scenario says where there is nothing of that shape, which is as good as a key that is left out."""


@dataclass(frozen=True)
class _Place:
    """Where a value is: what holds it, its key there, of a list its index as text, and what it is called."""

    holder: dict[str, JsonValue] | list[JsonValue]
    key: str
    at: str

    @property
    def value(self) -> JsonValue:
        return self.holder[int(self.key)] if isinstance(self.holder, list) else self.holder[self.key]

    def put(self, value: JsonValue) -> None:
        if isinstance(self.holder, list):
            self.holder[int(self.key)] = value
        else:
            self.holder[self.key] = value

    def take_out(self) -> None:
        """Leave the key out; an item of a list becomes null first, so that the others keep their places."""
        if isinstance(self.holder, list):
            self.put(None)
        else:
            del self.holder[self.key]


def mend(campaign: dict[str, JsonValue]) -> list[str]:
    """Take out of `campaign`, in place, whatever has another shape; a sentence for each."""
    problems = []
    for path, shape in _SHAPES.items():
        for place in list(_places(campaign, path)):
            if place.value is None or _is(place.value, shape):
                continue
            if place.value != _WORDS.get(path):
                problems.append(
                    f"campaign.json: {place.at} is not {shape}; it is read as if it were not there"
                )
            place.take_out()
    for path in {path[:-1] for path in _SHAPES if path[-1] == ANY}:
        for place in list(_places(campaign, path)):
            place.put(_without_nulls(place.value))
    return problems


def _places(node: JsonValue, path: tuple[str, ...], above: tuple[str, ...] = ()) -> Iterator[_Place]:
    """Each place that the path leads to, below the keys `above`."""
    if not isinstance(node, dict | list):
        return
    keys = [str(index) for index in range(len(node))] if isinstance(node, list) else list(node)
    if path[0] != ANY:
        keys = [path[0]] if isinstance(node, dict) and path[0] in node else []
    for key in keys:
        place = _Place(node, key, ".".join((*above, key)))
        if len(path) == 1:
            yield place
        else:
            yield from _places(place.value, path[1:], (*above, key))


def _is(value: JsonValue, shape: str) -> bool:
    return (
        isinstance(value, _TYPES[shape])
        and isinstance(value, bool) == (shape == FLAG)
        and (shape != NAME or value != "")
    )


def _without_nulls(node: JsonValue) -> JsonValue:
    if isinstance(node, list):
        return [item for item in node if item is not None]
    return {name: item for name, item in node.items() if item is not None} if isinstance(node, dict) else node

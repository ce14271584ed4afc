"""A YAML file as plain data in which every value knows the line it came from.

The dialect is small on purpose: one document, mappings with text keys, lists, and scalars by the core
schema of YAML 1.2 (so `on` and `no` are text, `1e3` is a number). Duplicate keys, aliases, tags and numbers
that JSON and Arrow cannot hold are refused.
"""

import copy
import difflib
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import yaml
from pydantic import JsonValue

Loc = tuple[str | int, ...]
"""Where a value stands in a document: keys and list indices from the root, as pydantic writes it."""

MAX_BYTES = 1 << 18
"""Many times the longest scenario, and what is read within seconds."""
MAX_DEPTH = 32
_TAG = "tag:yaml.org,2002:"


class InputError(Exception):
    """What the user gave cannot be used; nothing was started. The exit status is 2.

    `str()` is one line a problem: `file:line: what is wrong; what is allowed`. Input from the command line
    stands there as it was typed, in place of file and line: `--set frame_bytes=63: ...`. Whatever input a message
    repeats, it holds no control characters but the newlines between problems.
    """

    def __init__(self, message: str) -> None:
        super().__init__("\n".join(one_line(line) for line in message.split("\n")))


@dataclass(frozen=True)
class Document:
    """Plain data with the origin of every value: `file:line`, or the command-line option that set it."""

    path: Path
    data: dict[str, JsonValue]
    origins: Mapping[Loc, str] = field(default_factory=dict, repr=False)
    typed: frozenset[Loc] = frozenset()
    """What options set."""

    def is_typed(self, loc: Loc) -> bool:
        """Whether an option set the value at `loc`, or one that it is part of."""
        return any(loc[:length] in self.typed for length in range(len(loc) + 1))

    def where(self, loc: Loc) -> str:
        """The origin of the key at `loc`, or of its nearest parent that exists."""
        for length in range(len(loc), -1, -1):
            if origin := self.origins.get(loc[:length]):
                return origin
        return str(self.path)

    def value(self, loc: tuple[str, ...]) -> JsonValue:
        """The value at `loc`; KeyError where there is none."""
        found: JsonValue = self.data
        for part in loc:
            if not isinstance(found, dict):
                raise KeyError(part)
            found = found[part]
        return found

    def error(self, loc: Loc, problem: str) -> InputError:
        """An error about the value at `loc`: origin, dotted key, problem."""
        key = ".".join(part for part in loc if isinstance(part, str))
        return InputError(one_line(": ".join(part for part in (self.where(loc), key, problem) if part)))

    def with_value(self, loc: tuple[str, ...], value: JsonValue, origin: str) -> "Document":
        """A copy in which `loc` holds `value`, typed as the option `origin`; missing parents are made."""
        data = copy.deepcopy(self.data)
        parent = data
        for part in loc[:-1]:
            below = parent.get(part)
            if not isinstance(below, dict):
                below = parent[part] = {}
            parent = below
        parent[loc[-1]] = value
        copied = self._without_origins(loc, data)
        return replace(copied, origins={**copied.origins, loc: origin}, typed=copied.typed | {loc})

    def without(self, loc: tuple[str, ...]) -> "Document":
        """A copy in which the key at `loc` is gone; the same document where it never was."""
        data = copy.deepcopy(self.data)
        parent: JsonValue = data
        for part in loc[:-1]:
            parent = parent.get(part) if isinstance(parent, dict) else None
        if isinstance(parent, dict):
            parent.pop(loc[-1], None)
        return self._without_origins(loc, data)

    def _without_origins(self, loc: Loc, data: dict[str, JsonValue]) -> "Document":
        """The same place with other data, in which nobody has said yet what is at `loc`."""
        origins = {at: origin for at, origin in self.origins.items() if at[: len(loc)] != loc}
        typed = frozenset(at for at in self.typed if at[: len(loc)] != loc)
        return replace(self, data=data, origins=origins, typed=typed)


def one_line(text: str) -> str:
    """`text` with escapes for what would end the line, hide in it, or command a terminal."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def suggestion(word: str, candidates: Iterable[str]) -> str:
    """`did you mean "streams"?`, or nothing where no candidate is close to `word`."""
    close = closest(word, candidates)
    return f'did you mean "{close}"?' if close else ""


def closest(word: str, candidates: Iterable[str]) -> str:
    """The candidate that `word` may be a misspelling of, or nothing where none is close."""
    return "".join(difflib.get_close_matches(word.lower(), list(candidates), n=1))


def advised(problem: str, near: str, rest: str) -> str:
    """One sentence of what is wrong, a `suggestion` where there is one, and what is allowed."""
    return f"{problem}; {near} {rest}" if near else f"{problem}; {rest}"


def scalar(text: str) -> str | int | float | bool | None:
    """`text` as a file's plain scalar is read; ValueError for a number that cannot be held."""
    tag = _Loader("").resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
    return _plain(tag, text)


def read_document(path: Path) -> Document:
    """The mapping in the YAML file at `path`; raises InputError for whatever else is there."""
    document = _parsed(path, _read_text(path))
    return replace(document, data=copy.deepcopy(document.data))


# Presets and scenarios are read for each question about them; there are fewer than are kept.
@lru_cache(maxsize=128)
def _parsed(path: Path, text: str) -> Document:
    node = _compose(path, text)
    if not isinstance(node, yaml.MappingNode):
        line = node.start_mark.line + 1 if node else 1
        raise InputError(f"{path}:{line}: a mapping is expected, lines of the form `key: value`")
    origins: dict[Loc, str] = {(): _origin(path, node)}
    return Document(path, _mapping(path, node, (), origins), origins)


def _compose(path: Path, text: str) -> yaml.Node | None:
    def refused(line: int, reason: object) -> InputError:
        return InputError(f"{path}:{line}: not readable as YAML: {reason}")

    try:
        loader = _Loader(text)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise refused(line, "control characters are not allowed") from None
    try:
        return loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = " ".join(str(part) for part in (error.context, error.problem) if part)
        raise refused(mark.line + 1 if mark else 1, reason) from None
    except (ValueError, OverflowError) as error:  # PyYAML lets escapes beyond Unicode through to chr()
        raise refused(loader.line + 1, error) from None


def read_file(path: Path, most_bytes: int) -> bytes:
    """The content of a file; raises InputError where it cannot be read, or is larger."""
    try:
        with path.open("rb") as file:
            content = file.read(most_bytes + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"{path}: cannot be read: {reason}") from None
    if len(content) > most_bytes:
        raise InputError(f"{path}: larger than {most_bytes} bytes, the most that is read")
    return content


def _read_text(path: Path) -> str:
    content = read_file(path, MAX_BYTES)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}:{line}: not UTF-8 text") from None


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader with the scalars of YAML 1.2, a bound on nesting, and no aliases."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - the name and kind are PyYAML's
    _depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise self._refused("aliases are not allowed")
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._refused(f"nested deeper than {MAX_DEPTH} levels")
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def _refused(self, problem: str) -> yaml.MarkedYAMLError:
        mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
        return yaml.MarkedYAMLError(problem=problem, problem_mark=mark)


for _name, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
):
    _Loader.add_implicit_resolver(_TAG + _name, re.compile(rf"^(?:{_pattern})$"), _first)


def _origin(path: Path, node: yaml.Node) -> str:
    return f"{path}:{node.start_mark.line + 1}"


def _construct(path: Path, node: yaml.Node, loc: Loc, origins: dict[Loc, str]) -> JsonValue:
    """The plain data of `node`; the origin of everything below it goes into `origins`."""
    if isinstance(node, yaml.MappingNode):
        return _mapping(path, node, loc, origins)
    if isinstance(node, yaml.SequenceNode):
        return _sequence(path, node, loc, origins)
    return _scalar(path, node)


def _mapping(path: Path, node: yaml.MappingNode, loc: Loc, origins: dict[Loc, str]) -> dict[str, JsonValue]:
    _check_tag(path, node, "map")
    mapping: dict[str, JsonValue] = {}
    for key_node, value_node in node.value:
        if not isinstance(key_node, yaml.ScalarNode) or key_node.tag != _TAG + "str":
            raise InputError(
                f"{_origin(path, key_node)}: a key must be text; quote it where it looks otherwise"
            )
        key = str(_scalar(path, key_node))
        if key in mapping:
            raise InputError(
                f'{_origin(path, key_node)}: key "{one_line(key)}" again; it stands at {origins[*loc, key]}'
            )
        origins[*loc, key] = _origin(path, key_node)
        mapping[key] = _construct(path, value_node, (*loc, key), origins)
    return mapping


def _sequence(path: Path, node: yaml.SequenceNode, loc: Loc, origins: dict[Loc, str]) -> list[JsonValue]:
    _check_tag(path, node, "seq")
    values = []
    for index, item in enumerate(node.value):
        origins[*loc, index] = _origin(path, item)
        values.append(_construct(path, item, (*loc, index), origins))
    return values


def _check_tag(path: Path, node: yaml.CollectionNode, usual: str) -> None:
    if node.tag != _TAG + usual:
        raise InputError(f"{_origin(path, node)}: {_refused_tag(node.tag)}")


def _refused_tag(tag: str) -> str:
    return f"tag {tag} is not allowed; plain values carry none"


def _scalar(path: Path, node: yaml.Node) -> str | int | float | bool | None:
    try:
        return _plain(node.tag, node.value)
    except ValueError as error:
        raise InputError(f"{_origin(path, node)}: {error}") from None


def _plain(tag: str, text: str) -> str | int | float | bool | None:
    match tag.removeprefix(_TAG):
        case "null":
            return None
        case "bool":
            return text.lower() == "true"
        case "int":
            if len(text) > 20 or not -(2**63) <= int(text) < 2**63:
                raise ValueError(f"{text[:24]} does not fit into 64 bits")
            return int(text)
        case "float":
            if not math.isfinite(float(text)):
                raise ValueError(f"{text[:24]} is too large a number")
            return float(text)
        case "str":
            if any("\ud800" <= character <= "\udfff" for character in text):
                raise ValueError("text holds half of a surrogate pair")
            return text
        case _:
            raise ValueError(_refused_tag(tag))

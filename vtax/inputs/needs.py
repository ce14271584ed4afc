"""What files need beyond plain traffic, and how it is granted: what was typed is, the rest by name or by an answer."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast, get_args

from vtax.inputs.document import InputError, advised, one_line, suggestion

NeedKind = Literal["programs", "domains", "hosts", "interfaces", "stored"]
"""What is granted by name: programs of a file's own that run, domain files that are started, machines that are reached,
NICs that are borrowed, and settings of a result that differ from those typed."""
NEED_KINDS: tuple[NeedKind, ...] = get_args(NeedKind)


@dataclass(frozen=True)
class Need:
    """Something that a file needs beyond plain traffic. Two needs are equal that grant the same thing."""

    kind: NeedKind
    detail: str
    """Which program, host or interface."""
    keys: tuple[str, ...] = field(default=(), compare=False)
    """The keys that it follows from, of the section that declares it."""
    where: str = field(default="", compare=False)
    """Where the first of them was given."""
    is_typed: bool = field(default=False, compare=False)
    """Whether all of them were typed on the command line."""

    def __str__(self) -> str:
        place = f" ({self.where})" if self.where else ""
        return one_line(f"{self.kind}: {self.detail}{place}")


@dataclass(frozen=True)
class Request:
    """What something needs that was not typed, and what of that no name has granted."""

    of: str
    needs: Sequence[Need]
    missing: Sequence[NeedKind]

    @property
    def listed(self) -> str:
        """All of it, a line each."""
        return self._list(self.needs)

    @property
    def refusal(self) -> InputError:
        """The error that lists what is missing, and the option that grants exactly that."""
        missing = [need for need in self.needs if need.kind in self.missing]
        return InputError(f"{self._list(missing)}\nto grant this, add --allow {','.join(self.missing)}")

    def _list(self, needs: Iterable[Need]) -> str:
        return "\n".join(
            [f"{one_line(self.of)} needs more than was typed:", *(f"  {need}" for need in needs)]
        )


Consent = Callable[[Request], None]
"""Shows a request, and raises InputError where it is not granted."""


def by_name(request: Request) -> None:
    """Grant what was named, and ask nobody."""
    if request.missing:
        raise request.refusal


def require(of: str, needs: Iterable[Need], allow: Collection[NeedKind], consent: Consent = by_name) -> None:
    """Raise InputError unless all `needs` are granted, by the names in `allow` or by `consent`."""
    asked = sorted(dict.fromkeys(needs), key=lambda need: NEED_KINDS.index(need.kind))
    if asked:
        missing = dict.fromkeys(need.kind for need in asked if need.kind not in allow)
        consent(Request(of, asked, [*missing]))


def read_kinds(texts: Iterable[str]) -> frozenset[NeedKind]:
    """Return the kinds in texts as `programs,hosts`; InputError for another word."""
    words = [word.strip() for text in texts for word in text.split(",")]
    for word in words:
        if word not in NEED_KINDS:
            problem = f'--allow: "{one_line(word)}" cannot be granted'
            raise InputError(
                advised(problem, suggestion(word, NEED_KINDS), f"allowed: {', '.join(NEED_KINDS)}")
            )
    return frozenset(cast("list[NeedKind]", words))

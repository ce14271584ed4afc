"""What a command makes of results, and of which kinds of workload it can: results of others are refused by name."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from vtax.inputs import InputError
from vtax.results import Result
from vtax.views.provenance import workload_kind


@dataclass(frozen=True)
class Served:
    """What a command makes, as in "no history yet", and the kinds of workload that it makes this of.

    `stages` marks what is made of results too whose every trial was traced, which have delays by stage alone.
    `instead` is what to type next; `{}` in it is the result's directory.
    """

    what: str
    kinds: Collection[str]
    stages: bool = False
    instead: str = "see its tables with: vtax show {}"

    def check(self, result: Result) -> Result:
        """Return the result itself. InputError where it is of a kind that this cannot be made of."""
        if (refusal := self.refusal(result)) is not None:
            raise InputError(refusal)
        return result

    def refusal(self, result: Result) -> str | None:
        """Return why this cannot be made of the result, and what to type next; None where it can."""
        try:
            kind, is_traced = workload_kind(result), _is_traced(result)
        except InputError as unknown:
            return str(unknown)
        if kind in self.kinds and (self.stages or not is_traced):
            return None
        name = f"traced {kind}" if is_traced else kind
        return f"{result.directory}: {name} results have no {self.what} yet; {self.instead.format(result.directory)}"


def _is_traced(result: Result) -> bool:
    """Whether it has trials, and all of them were traced."""
    return bool(result.tables["trials"]["trace"].unique().to_pylist() == ["stages"])

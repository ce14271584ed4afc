"""Reading the claims of a paper: a file beside its scenarios, refused where it names what they do not have."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from vtax.inputs import Document, InputError, advised, read_document, suggestion, validate
from vtax.model.frames import MAXIMUM_MBPS
from vtax.scenario import Scenario, load_scenario
from vtax.scenario.load import CLAIMS, SCENARIOS
from vtax.scenario.names import Key
from vtax.views.claims.checks import Difference
from vtax.views.claims.claim import Claim, ClaimFile
from vtax.views.claims.readings import COORDINATES, OF_KIND

NAME = r"[a-z0-9]+(-[a-z0-9]+)*"


def papers() -> list[str]:
    """The papers that have claims, by name."""
    return sorted(path.parent.name for path in SCENARIOS.glob(f"*/{CLAIMS}"))


@cache
def load_claims(paper: str) -> tuple[Claim, ...]:
    """The claims of that paper in its file's order; none where it has none. InputError where the file is wrong."""
    return read_claims(SCENARIOS / paper / CLAIMS, paper) if paper in papers() else ()


def read_claims(path: Path, paper: str) -> tuple[Claim, ...]:
    """The claims in the file at `path`, of a paper whose scenarios come with vtax.

    InputError with file, line and what is allowed where a claim names a scenario, a quantity or a factor that is none.
    """
    document = read_document(path)
    claims = []
    for name in document.data:
        if not re.fullmatch(NAME, name):
            raise document.error((name,), "not a name; allowed: lower-case words with hyphens between them")
        claim = Claim(paper, name, validate(ClaimFile, document, at=(name,)))
        scenarios = [_scenario(document, claim, at) for at in range(len(claim.scenarios))]
        for scenario in scenarios:
            _check(document, claim, scenario)
        claims.append(claim)
    return tuple(claims)


def _scenario(document: Document, claim: Claim, at: int) -> Scenario:
    place = (claim.name, "scenarios", at)
    try:
        return load_scenario(claim.scenarios[at])
    except InputError as error:
        raise document.error(place, str(error)) from None


def _check(document: Document, claim: Claim, scenario: Scenario) -> None:
    test, kind = claim.file.test, scenario.file.workload.kind
    known = [quantity.name for quantity in OF_KIND[kind]]
    at = (claim.name, "test")
    if test.quantity not in known:
        near = suggestion(test.quantity, known)
        problem = advised(
            f'{scenario.name} has no quantity "{test.quantity}"', near, f"allowed: {', '.join(known)}"
        )
        raise document.error(at, problem)
    if isinstance(test, Difference) and test.quantity == MAXIMUM_MBPS.name:
        raise document.error(at, f"{test.quantity} has ratios alone; allowed: kind: ratio")
    for name in test.factors:
        if name not in COORDINATES.get(test.quantity, ()):
            _check_factor(document, claim, scenario, name)


def _check_factor(document: Document, claim: Claim, scenario: Scenario, name: str) -> None:
    at, kind = (claim.name, "test"), scenario.file.workload.kind
    try:
        key = Key.parse(name)
    except ValueError as error:
        raise document.error(at, str(error)) from None
    model = key.model(kind)
    if model is not None and key.name not in model.model_fields:
        raise document.error(at, f"{scenario.name} has no factor {name}: {kind} workloads have no such key")

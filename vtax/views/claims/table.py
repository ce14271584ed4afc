"""Claims as tables: what terminal, Markdown and report show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from vtax.model import numbers
from vtax.model.bound import Bound
from vtax.model.estimate import Estimate
from vtax.model.platform import EMULATED_LABEL
from vtax.model.table import UNKNOWN, Column, Entry, Number, Section, Table, count, left_out
from vtax.views.claims import ClaimVerdict, Judged, Judgement, counts
from vtax.views.claims.checks import AnyCheck

COLUMNS = (
    Column("platform"),
    Column("verdict"),
    Column("here", numeric=True),
    Column("n", numeric=True),
    Column("left out", numeric=True),
    Column("note"),
)
NOTE = (
    "A claim holds if the whole interval lies within its limits, and does not hold if all of it lies outside. The "
    "intervals of all comparisons of a claim on a platform hold jointly at 95%."
)
_SET_BY = "generator, link, load or far end"
MISSING_AT_MOST = 2
"""Of more that was not measured for a claim, the rest is counted."""


def claim_tables(judged: Sequence[Judged]) -> list[Table]:
    """A table a claim that results can tell of, with a row a platform."""
    judged = [each for each in judged if each.result]
    told = Counter(each.claim.full_name for each in judged)
    return [_table(each, told[each.claim.full_name] > 1) for each in judged]


def reading(judged: Iterable[Judged]) -> str:
    """How to read these tables."""
    emulated = any(each.emulated for one in judged for each in one.judgements)
    return f"{NOTE} {EMULATED_LABEL}." if emulated else NOTE


def unmeasured_table(judged: Iterable[Judged]) -> Table:
    """The claims that no result here can tell of, and which could."""
    rows = [
        (each.claim.name, f"{each.claim.paper} {each.claim.file.where}", " or ".join(each.claim.scenarios))
        for each in judged
        if not each.result
    ]
    return Table(
        name="unmeasured-claims",
        title="Not measured",
        note="",
        columns=(Column("claim"), Column("where"), Column("needs a result of")),
        sections=(Section("", tuple(rows)),),
    )


def outcome(judged: Sequence[Judged]) -> str:
    """The count of each verdict in a line, emulated CPUs by themselves."""
    native, emulated = (counts(judged, emulated=group) for group in (False, True))
    line = ", ".join(f"{count} {verdict}" for verdict, count in native.items())
    further = ", ".join(f"{count} {verdict}" for verdict, count in emulated.items() if count)
    return f"{line}; on an emulated CPU: {further}" if further else line


def in_words(test: AnyCheck) -> str:
    """What a test takes, of which cells, and where that has to lie."""
    about = f", at {test.about}," if test.about else ""
    return f"{test.takes}{about} is {test.expected}"


def _table(judged: Judged, with_result: bool) -> Table:
    claim = judged.claim
    result = f" Result: {judged.result}." if with_result else ""
    return Table(
        name=f"claim-{claim.name}",
        title=claim.file.says,
        note=f"{claim.full_name} ({claim.file.where}). Test: {in_words(claim.file.test)}.{result}",
        columns=COLUMNS,
        sections=(Section("", tuple(_rows(judged))),),
    )


def _rows(judged: Judged) -> Iterable[tuple[Entry, ...]]:
    if not judged.judgements:
        why = f"no measured platform in its group: {judged.claim.file.platforms}"
        yield UNKNOWN, str(ClaimVerdict.UNMEASURED), Number(UNKNOWN), Number(UNKNOWN), Number(UNKNOWN), why
    for each in judged.judgements:
        yield _row(judged.claim.file.test, each)


def _row(test: AnyCheck, judgement: Judgement) -> tuple[Entry, ...]:
    found = judgement.decisive.estimate if judgement.decisive else None
    return (
        judgement.platform,
        judgement.told,
        effect_number(test, found),
        count(found),
        left_out(found.left_out) if found else Number(UNKNOWN),
        "; ".join(_notes(judgement)),
    )


def effect_number(test: AnyCheck, found: Estimate | None) -> Number:
    """What the test took, with its unit and interval."""
    if found is None:
        return Number(UNKNOWN)
    unit = f" {test.unit}" if test.unit else ""
    shown = numbers.amount(found, test.form)
    return Number(shown if found.is_withheld else shown + unit, numbers.bracket(found, test.form))


def _notes(judgement: Judgement) -> Iterable[str]:
    if judgement.decisive is not None:
        if judgement.decisive.where:
            yield judgement.decisive.where
        if len(judgement.effects) > 1:
            yield f"one of {len(judgement.effects)} comparisons"
        bound = judgement.decisive.estimate.bound
        if bound is Bound.WITHHELD:
            yield f"both sides are only bounds: {_SET_BY} set them"
        elif bound is not Bound.EXACT:
            yield f"only a bound: {_SET_BY} set a side"
    yield from judgement.missing[:MISSING_AT_MOST]
    if left := judgement.missing[MISSING_AT_MOST:]:
        yield f"{len(left)} more not measured"
    if judgement.decisive is None and not judgement.missing:
        yield "none of its cells has a usable trial"

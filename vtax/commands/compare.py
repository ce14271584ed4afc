"""`vtax compare`: what changed from one campaign to another, or from one level of a factor to another."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vtax.commands import Json, Write, output_file
from vtax.inputs import InputError
from vtax.listing import print_json

if TYPE_CHECKING:
    from vtax.views.compare import Comparison

RULE_BROKEN = 4
"""Exit status where a rule of --fail-on is broken in a cell."""
UNDECIDED = 5
"""Exit status where no rule is broken, and one cannot be decided in a cell."""
NO_TRIALS = 3
"""Exit status where a campaign has no usable trial at all."""


def compare(
    a: Annotated[Path, typer.Argument(metavar="A", help="Directory of the reference.")],
    b: Annotated[
        Path | None,
        typer.Argument(metavar="B", help="Directory of the result compared with it."),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="FACTOR",
            help="Compare two levels of a factor in A instead, block by block, as in platform=raw,container.",
        ),
    ] = None,
    earlier: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Directory with six campaigns or more of the experiment: how far they lie apart is no change.",
        ),
    ] = None,
    within: Annotated[
        float,
        typer.Option(metavar="PERCENT", help="Changes within this count as none; of loss always 0.5 points."),
    ] = 5.0,
    allow: Annotated[
        str | None,
        typer.Option(
            metavar="A,B", help="Conditions that may differ: machine, kernel, accelerator, settings, context."
        ),
    ] = None,
    fail_on: Annotated[
        str | None,
        typer.Option(
            metavar="RULES",
            help="As in 'throughput<-5%,latency_p99>+10%': exit with 4 where a cell breaks one, and with 5 where "
            "too few or too scattered repetitions leave one undecided.",
        ),
    ] = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a JUnit file too.")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="As Markdown.")] = False,
    json: Json = False,
) -> int:
    """Compare campaign B with A, or two levels of a factor in A, with intervals (docs/compare.md).

    \b
    Exit status:
      0  compared; with --fail-on: every rule passes in every cell
      2  bad input, other conditions, the same campaign twice, no common cell
      3  a campaign has no usable trial at all
      4  a rule is broken in a cell
      5  no rule is broken, and one is undecided in a cell
    """
    if not 0 <= within < 100:
        raise InputError(f"--within: {within:g} is not 0 or more and less than 100 percent")
    if markdown and json:
        raise InputError("--markdown and --json are two forms of the same output; leave out one")
    if (b is None) is (by is None):
        given = "two results and --by are two comparisons" if by else "one result alone is no comparison"
        raise InputError(f"{given}; type vtax compare A B, or vtax compare A --by platform=raw,container")
    if by is not None and earlier is not None:
        raise InputError("--earlier: the levels of one campaign share its hour; leave out --earlier, or --by")
    if earlier is not None and not earlier.is_dir():
        raise InputError(f"--earlier: {earlier}: no such directory; name one that results lie below")
    results = [a] if b is None else [a, b]
    read = results if earlier is None else [*results, earlier]
    if junit is not None:
        with output_file(read, junit, "--junit") as write:
            return _compare(results, by, earlier, within, allow, fail_on, write, markdown=markdown, json=json)
    from vtax.confinement.reading import confine

    confine(read)
    return _compare(results, by, earlier, within, allow, fail_on, None, markdown=markdown, json=json)


def _compare(
    results: list[Path],
    by: str | None,
    earlier: Path | None,
    within: float,
    allow: str | None,
    fail_on: str | None,
    write_junit: Write | None,
    *,
    markdown: bool,
    json: bool,
) -> int:
    from vtax.terminal import table_console
    from vtax.views.compare import CampaignEffect, open_levels, open_side, parse_rules, read_earlier
    from vtax.views.compare import compare as compare_sides
    from vtax.views.compare.document import comparison_document
    from vtax.views.compare.junit import comparison_junit
    from vtax.views.compare.markdown import comparison_markdown
    from vtax.views.compare.terminal import print_comparison

    rules = parse_rules(fail_on) if fail_on is not None else ()
    allowed = allow.split(",") if allow is not None else []
    sides = [open_side(path) for path in results] if by is None else open_levels(results[0], by)
    assumed = CampaignEffect() if by is None else None
    effect = assumed if earlier is None else read_earlier(earlier, *sides)
    compared = compare_sides(*sides, within=within / 100, allow=allowed, rules=rules, effect=effect)
    if write_junit is not None:
        write_junit([comparison_junit(compared)])
    if json:
        print_json(comparison_document(compared).as_json(), sys.stdout)
    elif markdown:
        print(comparison_markdown(compared), end="")
    else:
        print_comparison(compared, table_console())
    return status_of(compared)


def status_of(compared: "Comparison") -> int:
    """Return the exit status by what was found."""
    from vtax.views.compare import Outcome

    if compared.without_trials:
        return NO_TRIALS
    if compared.outcomes[Outcome.BROKEN]:
        return RULE_BROKEN
    return UNDECIDED if compared.outcomes[Outcome.UNDECIDED] else 0

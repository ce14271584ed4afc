"""`vtax ab`: two levels of a factor by turns, until rules are decided."""

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vtax.commands import Json, check_parent, output_file
from vtax.commands.campaign_options import (
    Duration,
    Out,
    Platforms,
    Resume,
    ScenarioName,
    Seed,
    Sets,
    TestbedPath,
    check_settled,
)
from vtax.commands.compare import NO_TRIALS, UNDECIDED, status_of
from vtax.commands.consent import Allow, at_terminal
from vtax.commands.report import write_report
from vtax.commands.run import (
    check_rules_of,
    name_unusable,
    saying_what_is_kept,
)
from vtax.commands.testbed import machines_of
from vtax.inputs import InputError, one_line
from vtax.inputs.needs import read_kinds
from vtax.listing import print_json

if TYPE_CHECKING:
    from vtax.campaign import Outcome, Resumed
    from vtax.scenario import Scenario
    from vtax.testbed.remote import TestbedFile
    from vtax.views.compare import Comparison

MOST_BLOCKS = 1000
"""A campaign by turns ends by its rules, its budget or its number of quads; no result has more blocks."""
DEFAULT_BUDGET = "30m"
_SECONDS = {"s": 1, "m": 60, "h": 3600}
_BUDGET = re.compile(r"(\d{1,5}(?:\.\d{1,3})?)([smh])", re.ASCII)


def ab(
    scenario: ScenarioName,
    factor: Annotated[
        str,
        typer.Option(
            metavar="FACTOR=A,B", help="The two levels, as in platform=raw,container; A is the reference."
        ),
    ],
    fail_on: Annotated[
        str,
        typer.Option(metavar="RULES", help="As in 'throughput<-5%,latency_p99>+10%': what B may not do."),
    ],
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="As in 2h: time after which nothing more is measured; by default 30m."
        ),
    ] = None,
    fixed: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=2,
            max=MOST_BLOCKS // 2,
            help="Measure N quads whatever they show, and judge them once.",
        ),
    ] = None,
    platform: Platforms = None,
    sets: Sets = None,
    duration: Duration = None,
    seed: Seed = None,
    out: Out = None,
    resume: Resume = None,
    testbed: TestbedPath = None,
    allow: Allow = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a JUnit file too.")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="As Markdown.")] = False,
    json: Json = False,
) -> int:
    """Measure A and B by turns until every rule is decided, or N quads of each (docs/ab.md).

    \b
    Exit status:
      0  every rule passes in every cell: B is no worse
      2  bad input
      3  a level has no usable trial
      4  a rule is broken in a cell: B is worse
      5  no rule is broken, and a cell is undecided, or has no usable trial
    """
    from vtax import campaign, views
    from vtax.campaign import Resumed, Typed
    from vtax.results import Result
    from vtax.scenario import load_scenario
    from vtax.terminal import progress_on
    from vtax.testbed.remote import read_testbed
    from vtax.views.compare.turns import open_turns, rule_progress

    if markdown and json:
        raise InputError("--markdown and --json are two forms of the same output; leave out one")
    if budget is not None and fixed is not None:
        raise InputError("--fixed measures N quads whatever time they take; leave out --budget, or --fixed")
    check_settled(resume, {"--seed": seed, "--out": out})
    if junit is not None:
        check_parent(junit)
        if junit.is_dir():
            raise InputError(f"--junit: {junit} is a directory; name a file")
    platforms = platform.split(",") if platform is not None else None
    chosen = load_scenario(scenario).override(platforms, sets, duration_s=duration)
    if fixed is None:
        chosen = chosen.by_turns(
            factor, fail_on, MOST_BLOCKS, read_budget(DEFAULT_BUDGET if budget is None else budget)
        )
    else:
        chosen = chosen.by_turns(factor, fail_on, 2 * fixed, None)
    chosen.check_figures(views.figure_names())
    check_rules_of(chosen)
    file = None if testbed is None else read_testbed(testbed)
    stored = None
    if resume is not None:
        stored = Resumed.read(resume, typed=Typed(chosen, file))
        stored.check_same(chosen, of_testbeds=False)
        _check_rules(stored, chosen, file)
        file = stored.testbed
    with saying_what_is_kept():
        outcome = campaign.run(
            chosen,
            out=out,
            seed=seed,
            resume=stored,
            allow=read_kinds(allow or []),
            consent=at_terminal,
            machines=machines_of(file),
            judging=rule_progress,
            progress=progress_on(sys.stderr, plain=json),
        )
    compared = open_turns(outcome.directory)
    written = write_report(Result.open(outcome.directory))
    _print(outcome, compared, junit, markdown=markdown, json=json)
    if written and not (markdown or json):
        print(f"report: {written}")
    name_unusable(outcome.unusable)
    if compared is None:
        return NO_TRIALS
    return status_of(compared) or (UNDECIDED if outcome.unusable else 0)


def _check_rules(stored: "Resumed", typed: "Scenario", testbed: "TestbedFile | None") -> None:
    """Raise InputError where a complete campaign was begun with other settings: nothing of it is measured again."""
    if stored.is_whole and (differences := stored.differences(typed, testbed)):
        raise InputError(
            f"{stored.directory}: the campaign is complete, and it has other settings ({'; '.join(differences)}); to "
            f"judge it by other rules: vtax compare {stored.directory} --by FACTOR --fail-on RULES"
        )


def read_budget(text: str) -> float:
    """Seconds of a text such as `30m`; InputError for any other, and for none."""
    found = _BUDGET.fullmatch(text.strip())
    seconds = float(found[1]) * _SECONDS[found[2]] if found else 0.0
    if not seconds:
        raise InputError(
            f"--budget: '{one_line(text)}' is no time; one is a number with s, m or h, as in 30m"
        )
    return seconds


def _print(
    outcome: "Outcome", compared: "Comparison | None", junit: Path | None, *, markdown: bool, json: bool
) -> None:
    from vtax.documents.ab import Ab
    from vtax.documents.run import Unusable
    from vtax.terminal import table_console
    from vtax.views.compare.document import comparison_document
    from vtax.views.compare.junit import comparison_junit
    from vtax.views.compare.markdown import comparison_markdown
    from vtax.views.compare.terminal import print_comparison

    if json:
        document = Ab(
            directory=str(outcome.directory),
            unusable=[Unusable(cell=cell, reason=reason) for cell, reason in outcome.unusable],
            comparison=None if compared is None else comparison_document(compared),
        )
        print_json(document.as_json(), sys.stdout)
    elif compared is not None and markdown:
        print(comparison_markdown(compared), end="")
    elif compared is not None:
        print_comparison(compared, table_console())
    if junit is not None and compared is not None:
        with output_file([outcome.directory], junit, "--junit") as write:
            write([comparison_junit(compared)])

"""`vtax run`: from a scenario to a result."""

import contextlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vtax.commands import BROKE, DISK_ERRORS, InterruptedCampaignError, Json
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
from vtax.commands.consent import Allow, at_terminal
from vtax.commands.report import REPORT, write_report
from vtax.commands.testbed import machines_of
from vtax.commands.testbeds import run_on_testbeds
from vtax.inputs import InputError
from vtax.inputs.needs import read_kinds
from vtax.listing import print_json

if TYPE_CHECKING:
    from pydantic import JsonValue

    from vtax.campaign import Outcome
    from vtax.results import Result
    from vtax.scenario import Scenario

KEPT = "completed trials are kept"


def run(
    scenario: ScenarioName,
    platform: Platforms = None,
    sets: Sets = None,
    repetitions: Annotated[int | None, typer.Option(help="Trials of every cell.")] = None,
    duration: Duration = None,
    blocks: Annotated[
        str | None,
        typer.Option(metavar="0-3,7", help="Only these repetitions of every cell; see vtax merge."),
    ] = None,
    seed: Seed = None,
    out: Out = None,
    resume: Resume = None,
    testbed: TestbedPath = None,
    testbeds: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Distribute the repetitions over the testbeds of this file; see docs/scale.md.",
        ),
    ] = None,
    libvirt_uri: Annotated[
        str | None, typer.Option(metavar="URI", help="Libvirt for libvirt:FILE.xml, as in qemu:///system.")
    ] = None,
    allow: Allow = None,
    json: Json = False,
) -> int:
    """Measure a scenario on this machine, a testbed or several; then print its tables and write its report."""
    from vtax import campaign, views
    from vtax.campaign import Resumed, Typed
    from vtax.campaign.blocks import read_blocks
    from vtax.results import Result
    from vtax.scenario import load_scenario
    from vtax.terminal import progress_on, table_console
    from vtax.testbed.remote import read_testbed
    from vtax.views.compare.turns import rule_progress

    if libvirt_uri is not None:
        sets = [*(sets or []), f"platform.libvirt_uri={libvirt_uri}"]
    check_settled(resume, {"--blocks": blocks, "--seed": seed, "--out": out})
    if testbeds is not None and (blocks is not None or testbed is not None):
        raise InputError(
            "--blocks, --testbed: with --testbeds the testbeds measure all blocks together; leave them out"
        )
    granted = read_kinds(allow or [])
    platforms = platform.split(",") if platform is not None else None
    chosen = load_scenario(scenario).override(platforms, sets, repetitions, duration)
    chosen.check_figures(views.figure_names())
    check_rules_of(chosen)
    file = None if testbed is None else read_testbed(testbed)
    progress = progress_on(sys.stderr, plain=json)
    stored = None
    if resume is not None:
        stored = Resumed.read(resume, typed=Typed(chosen, file))
        stored.check_same(chosen, of_testbeds=testbeds is not None)
        file = stored.testbed
    with saying_what_is_kept():
        if testbeds is not None:
            outcome = run_on_testbeds(chosen, testbeds, out, seed, stored, granted, progress)
        else:
            outcome = campaign.run(
                chosen,
                out=out,
                seed=seed,
                resume=stored,
                blocks=None if blocks is None else read_blocks(blocks),
                allow=granted,
                consent=at_terminal,
                machines=machines_of(file),
                judging=rule_progress,
                progress=progress,
            )
    result = Result.open(outcome.directory)
    if not outcome.made:
        if json:
            report = result.directory / REPORT
            print_json(_document(outcome, report if report.exists() else None, result), sys.stdout)
        name_unusable(outcome.unusable)
        return outcome.exit_status
    if json:
        written = write_report(result)
        print_json(_document(outcome, written, result), sys.stdout)
    else:
        views.show(result, table_console())
        if written := write_report(result):
            print(f"report: {written}")
    name_unusable(outcome.unusable)
    return outcome.exit_status if written else BROKE


def check_rules_of(scenario: "Scenario") -> None:
    """Raise InputError where a scenario that is measured by turns has rules that cannot be judged."""
    from vtax.views.compare.turns import rules_for

    if (by_turns := scenario.file.ab) is not None:
        rules_for(by_turns.fail_on, scenario.file.workload.kind)


@contextlib.contextmanager
def saying_what_is_kept() -> Iterator[None]:
    """Have a campaign that Ctrl-C or a full disk ends say what is kept of it, which no other command has to."""
    from vtax.results.files import disk_error

    try:
        yield
    except KeyboardInterrupt:
        raise InterruptedCampaignError(KEPT) from None
    except OSError as error:
        if error.errno not in DISK_ERRORS:
            raise
        refused = f"{error.filename or 'the result'}: {error.strerror}"
        raise disk_error(refused, f"{KEPT}; make room and continue with --resume") from error


def _document(outcome: "Outcome", report: Path | None, result: "Result") -> "dict[str, JsonValue]":
    """What --json prints."""
    from vtax import views
    from vtax.documents.run import Run, Unusable

    return Run(
        directory=str(outcome.directory),
        report=str(report) if report else None,
        unusable=[Unusable(cell=cell, reason=reason) for cell, reason in outcome.unusable],
        summary=views.document_of(result),
    ).as_json()


def name_unusable(unusable: Iterable[tuple[str, str]]) -> None:
    """Name the cells without a usable trial under the reason they share."""
    cells: dict[str, list[str]] = {}
    for cell, reason in unusable:
        cells.setdefault(reason, []).append(cell)
    for reason, keys in cells.items():
        print(f"no usable trial: {reason}", *keys, sep="\n  ", file=sys.stderr)

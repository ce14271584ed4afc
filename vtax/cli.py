"""The command line. Each command reads its input, calls one part of vtax, and prints what came of it.

Results go to stdout; progress and diagnostics to stderr. The exit status is 0, or 3 where some cell has no
usable trial, 4 where a comparison breaks a rule, 2 for bad input, 1 where vtax itself broke, 130 after Ctrl-C.
Commands import what they need when they run: `vtax --help` is instant, and a broken part spoils only its own
commands. Those that need more than a few lines live in `vtax/commands/`.
"""

import errno
import os
import sys
import traceback
from collections.abc import Iterable
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from typer.exceptions import TyperException

import vtax
from vtax.commands import Json, ResultPath
from vtax.commands.claims import claims
from vtax.commands.compare import compare
from vtax.commands.export import export
from vtax.commands.history import history
from vtax.commands.report import report, write_report
from vtax.commands.schema import schema
from vtax.inputs import InputError
from vtax.listing import RowFormat, print_checks, print_json, print_platforms, print_scenarios, write_rows

BROKE, BAD_INPUT, INTERRUPTED = 1, 2, 130
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)

app = typer.Typer(
    name="vtax",
    help="Measures the virtualization tax: what a platform costs every packet.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


class Listed(StrEnum):
    """What `vtax list` lists."""

    SCENARIOS = "scenarios"
    PLATFORMS = "platforms"


def _version(wanted: bool) -> None:
    if wanted:
        print(f"vtax {vtax.__version__}")
        raise typer.Exit


def _scenarios(incomplete: str) -> list[str]:
    """What a shell completes a scenario's name to."""
    from vtax.scenario import list_scenarios

    return [scenario.name for scenario in list_scenarios() if scenario.name.startswith(incomplete)]


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True)] = False,
) -> None:
    """Measures the virtualization tax: what a platform costs every packet."""


@app.command("list")
def list_(what: Annotated[Listed | None, typer.Argument(help="Both where it is left out.")] = None) -> None:
    """Scenarios and platforms that come with vtax."""
    from vtax.platforms import presets
    from vtax.scenario import list_scenarios

    if what in {None, Listed.SCENARIOS}:
        print_scenarios(list_scenarios(), sys.stdout)
    if what in {None, Listed.PLATFORMS}:
        print_platforms(presets().values(), sys.stdout)


@app.command()
def doctor(json: Json = False) -> None:
    """What this machine can measure, what it cannot, and why."""
    from vtax.doctor import examine

    checks = examine()
    if json:
        print_json({"checks": [asdict(check) for check in checks]}, sys.stdout)
    else:
        print_checks(checks, sys.stdout)


@app.command()
def run(
    scenario: Annotated[
        str,
        typer.Argument(
            help="A name of `vtax list scenarios`, or a path to a file.", autocompletion=_scenarios
        ),
    ],
    platform: Annotated[str | None, typer.Option(metavar="A,B", help="Only these platforms.")] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=V1,V2", help="Values of a factor; a single one fixes it."),
    ] = None,
    repetitions: Annotated[int | None, typer.Option(help="Trials of every cell.")] = None,
    duration: Annotated[float | None, typer.Option(help="Seconds that each trial measures.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the random order of trials.")] = None,
    out: Annotated[Path | None, typer.Option(help="Directory of the result; results/<name>-<time>.")] = None,
    resume: Annotated[
        Path | None, typer.Option(metavar="RESULT", help="Go on with a campaign that did not end.")
    ] = None,
    libvirt_uri: Annotated[
        str | None, typer.Option(metavar="URI", help="Libvirt for libvirt:FILE.xml, as in qemu:///system.")
    ] = None,
    allow_programs: Annotated[
        bool, typer.Option("--allow-programs", help="Start the programs that the scenario names.")
    ] = False,
    json: Json = False,
) -> int:
    """Measure a scenario on this machine; then print its tables and write its report."""
    from vtax import campaign, views
    from vtax.results import Result
    from vtax.scenario import load_scenario
    from vtax.terminal import progress_on, table_console

    if libvirt_uri is not None:
        sets = [*(sets or []), f"platform.libvirt_uri={libvirt_uri}"]
    changed = {
        "--platform": platform,
        "--set or --libvirt-uri": sets,
        "--repetitions": repetitions,
        "--duration": duration,
    }
    kept = [name for name, value in {**changed, "--seed": seed, "--out": out}.items() if value is not None]
    if resume is not None and kept:
        raise InputError(f"--resume: a resumed campaign keeps its own settings; leave out {', '.join(kept)}")
    platforms = platform.split(",") if platform is not None else None
    chosen = load_scenario(scenario).override(platforms, sets, repetitions, duration)
    chosen.check_figures(views.figure_names())
    outcome = campaign.run(
        chosen,
        out=out,
        seed=seed,
        resume=resume,
        allow_programs=allow_programs,
        progress=progress_on(sys.stderr, plain=json),
    )
    result = Result.open(outcome.directory)
    if json:
        written = write_report(result)
        document = {
            "directory": str(outcome.directory),
            "report": str(written) if written else None,
            "unusable": [{"cell": cell, "reason": reason} for cell, reason in outcome.unusable],
            "summary": views.as_json(result),
        }
        print_json(document, sys.stdout)
    else:
        views.show(result, table_console())
        if written := write_report(result):
            print(f"report: {written}")
    _say_unusable(outcome.unusable)
    return outcome.exit_status if written else BROKE


@app.command()
def trace(
    interfaces: Annotated[
        list[str],
        typer.Argument(
            metavar="INTERFACE...",
            help="One: its own stages. Several in a row: the way between them, as in tap0 br0 eth0.",
        ),
    ],
    netns: Annotated[
        str | None,
        typer.Option(metavar="NAME|PID", help="Namespace of the interfaces; by default vtax's own."),
    ] = None,
    sample: Annotated[int, typer.Option(min=1, max=65536, help="Follow one packet in so many.")] = 64,
    duration: Annotated[
        float | None, typer.Option(min=0.1, metavar="S", help="End after so many seconds; else at Ctrl-C.")
    ] = None,
    json: Json = False,
) -> None:
    """Where packets spend their time on a path that exists, live; changes nothing, leaves nothing attached."""
    from vtax.terminal import table_console
    from vtax.trace import Request
    from vtax.trace import trace as follow
    from vtax.trace.screen import print_result, screen_on
    from vtax.trace.tables import document

    with screen_on(sys.stderr, plain=json) as screen:
        result = follow(Request(interfaces, netns, sample, duration), screen)
    if json:
        print_json(document(result), sys.stdout)
    else:
        print_result(result, table_console())


@app.command()
def clean() -> None:
    """Remove what a killed run left on this machine, by its ownership record, and name it."""
    from vtax.campaign import clean_host

    cleaned = clean_host()
    for owned in cleaned.removed:
        print(f"removed {owned}")
    if cleaned.failed:
        print(
            f"{len(cleaned.failed)} still there, for the reasons above; remove the cause and repeat vtax clean"
        )
        raise typer.Exit(BROKE)
    if not cleaned.removed:
        print("nothing to remove")


@app.command()
def show(result: ResultPath, json: Json = False) -> None:
    """The tables of a result again, also while its campaign runs."""
    from vtax import views
    from vtax.results import Result
    from vtax.terminal import table_console

    opened = Result.open(result)
    if json:
        print_json(views.as_json(opened), sys.stdout)
    else:
        views.show(opened, table_console())


@app.command()
def diagnose(result: ResultPath, json: Json = False) -> None:
    """Why cells lost throughput or gained delay: who had the CPU, which hop dropped what, who was held back."""
    from vtax import views
    from vtax.results import Result
    from vtax.terminal import table_console

    found = views.diagnosis_of(Result.open(result))
    if json:
        print_json(views.diagnosis_as_json(found), sys.stdout)
    else:
        views.show_diagnosis(found, table_console())


@app.command()
def sql(
    result: ResultPath,
    query: Annotated[
        str, typer.Argument(help="As in: SELECT platform, avg(received_mbps) FROM cells GROUP BY 1")
    ],
    row_format: Annotated[RowFormat, typer.Option("--format")] = RowFormat.TABLE,
) -> None:
    """Ask a result in SQL: read only, nothing but the result within reach."""
    from vtax.results import Result

    opened = Result.open(result)
    for caution in (*opened.damaged, *opened.notes):
        print(caution, file=sys.stderr)
    try:
        rows = opened.query(query)
    except InputError as error:
        raise InputError(_one_sentence(str(error))) from None
    write_rows(rows, row_format, sys.stdout)


for command in (report, compare, claims, history, export, schema):
    app.command()(command)


def main(arguments: list[str] | None = None) -> int:
    """Run a command line and return its exit status; no expected error ends in a traceback."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        status = app(arguments or ["--help"], prog_name="vtax", standalone_mode=False)
    except InputError as error:
        return _fail(str(error), BAD_INPUT)
    except TyperException as error:
        return _fail(f"vtax: {error.format_message()} (see vtax --help)", error.exit_code)
    except Exception as error:
        return _broke(error)
    if status == INTERRUPTED:  # typer has caught the KeyboardInterrupt
        return _fail("vtax: interrupted; the trials that ended are kept", INTERRUPTED)
    return status or 0


def _broke(error: Exception) -> int:
    """A full disk with the next step; one line for what nobody expected, or all of it where VTAX_DEBUG asks."""
    if isinstance(error, OSError):
        from vtax.results import DiskError

        if isinstance(error, DiskError):
            return _fail(str(error), BROKE)
    if isinstance(error, OSError) and error.errno in DISK_ERRORS:
        kept = "the trials that ended are kept: make room and go on with --resume"
        return _fail(f"{error.filename or 'the result'}: {error.strerror}; {kept}", BROKE)
    if os.environ.get("VTAX_DEBUG") == "1":
        traceback.print_exception(error)
        return BROKE
    frame = traceback.extract_tb(error.__traceback__)[-1]
    what = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    place = f"{Path(frame.filename).name}:{frame.lineno}"
    return _fail(f"vtax broke at {place}: {what}; VTAX_DEBUG=1 in the environment shows where from", BROKE)


def _fail(text: str, status: int) -> int:
    print(text, file=sys.stderr)
    return status


def _say_unusable(unusable: Iterable[tuple[str, str]]) -> None:
    """Names the cells without a usable trial under the reason they share."""
    cells: dict[str, list[str]] = {}
    for cell, reason in unusable:
        cells.setdefault(reason, []).append(cell)
    for reason, keys in cells.items():
        print(f"no usable trial: {reason}", *keys, sep="\n  ", file=sys.stderr)


def _one_sentence(text: str) -> str:
    """DuckDB's message without the drawing of the query below it."""
    lines = (line.strip() for line in text.partition("\nLINE ")[0].splitlines())
    return " ".join(line for line in lines if line)

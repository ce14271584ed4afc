"""The command line. Each command reads its input, calls one part of vtax, and prints what came of it.

Results go to stdout; progress and diagnostics to stderr. The exit status is 0, or 3 where some cell has no
usable trial, 4 where a comparison breaks a rule, 5 where it cannot decide one, 2 for bad input, 1 where vtax itself
broke, 130 after Ctrl-C.
Commands import what they need when they run: `vtax --help` is instant, and a broken part spoils only its own
commands. Those that need more than a few lines live in `vtax/commands/`.
"""

import errno
import os
import sys
import traceback
from enum import StrEnum
from functools import cache, partial
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError
from typer.exceptions import TyperException
from typer.main import get_command

import vtax
from vtax.cluster.errors import ClusterError
from vtax.commands import BROKE, DISK_ERRORS, InterruptedCampaignError, Json, ResultPath, reading
from vtax.commands.ab import ab
from vtax.commands.claims import claims
from vtax.commands.compare import compare
from vtax.commands.export import export
from vtax.commands.history import history
from vtax.commands.host import host
from vtax.commands.merge import merge
from vtax.commands.report import report
from vtax.commands.run import run
from vtax.commands.schema import schema
from vtax.commands.testbed import testbed as testbed_commands
from vtax.commands.testbeds import certificates
from vtax.confinement import Process
from vtax.inputs import InputError, value_problem
from vtax.inputs.own_file import ChangedFileError
from vtax.listing import RowFormat, print_checks, print_json, print_platforms, print_scenarios, write_rows
from vtax.output import OutputError, hold_standard_streams, own_standard_output, visible_output

BAD_INPUT, INTERRUPTED = 2, 130

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


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True)] = False,
) -> None:
    """Measures the virtualization tax: what a platform costs every packet."""


@app.command("list")
def list_(what: Annotated[Listed | None, typer.Argument(help="Both by default.")] = None) -> None:
    """List the scenarios and platforms that come with vtax."""
    from vtax.platforms import presets
    from vtax.scenario import list_scenarios

    if what in {None, Listed.SCENARIOS}:
        print_scenarios(list_scenarios(), sys.stdout)
    if what in {None, Listed.PLATFORMS}:
        print_platforms(presets().values(), sys.stdout)


@app.command()
def doctor(json: Json = False) -> None:
    """Check the capabilities of this machine; report the reason and the fix for each missing one."""
    from vtax.doctor import examine
    from vtax.doctor.document import checks_document

    checks = examine()
    if json:
        print_json(checks_document(checks).as_json(), sys.stdout)
    else:
        print_checks(checks, sys.stdout)


app.command()(run)
app.command()(ab)


@app.command()
def trace(
    interfaces: Annotated[
        list[str],
        typer.Argument(
            metavar="INTERFACE...",
            help="One: its own stages. Several, in order: the path between them, as in tap0 br0 eth0.",
        ),
    ],
    netns: Annotated[
        str | None,
        typer.Option(metavar="NAME|PID", help="Namespace of the interfaces; by default vtax's own."),
    ] = None,
    sample: Annotated[int, typer.Option(min=1, help="Follow one packet in this many.")] = 64,
    duration: Annotated[
        float | None,
        typer.Option(min=0.1, metavar="S", help="Stop after this many seconds; by default at Ctrl-C."),
    ] = None,
    json: Json = False,
) -> None:
    """Show live where packets spend their time on an existing path; nothing is changed or stays attached."""
    from vtax.agent_api import GREATEST_SAMPLE_EVERY
    from vtax.terminal import table_console
    from vtax.trace import Request
    from vtax.trace import trace as follow
    from vtax.trace.document import trace_document
    from vtax.trace.screen import print_result, screen_on

    if sample > GREATEST_SAMPLE_EVERY:
        problem = f'"{sample}" is too large; allowed: at most {GREATEST_SAMPLE_EVERY}'
        raise typer.BadParameter(problem, param_hint="'--sample'")
    with screen_on(sys.stderr, plain=json) as screen:
        result = follow(Request(interfaces, netns, sample, duration), screen)
    if json:
        print_json(trace_document(result).as_json(), sys.stdout)
    else:
        print_result(result, table_console())


@app.command()
def clean() -> None:
    """Remove what a killed run left on this machine, by its ownership record, and list it."""
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
@reading
def show(result: ResultPath, json: Json = False) -> None:
    """Print the tables of a result, also while its campaign runs."""
    from vtax.confinement.reading import confine

    confine([result])
    from vtax import views
    from vtax.results import Result
    from vtax.terminal import table_console

    opened = Result.open(result)
    if json:
        print_json(views.as_json(opened), sys.stdout)
    else:
        views.show(opened, table_console())


@app.command()
@reading
def diagnose(result: ResultPath, json: Json = False) -> None:
    """Explain lost throughput and added delay of cells: CPU use, drops at each hop, back-pressure."""
    from vtax.confinement.reading import confine

    confine([result])
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
        str,
        typer.Argument(help="As in: SELECT cell, avg(received_mbps) FROM cells GROUP BY ALL ORDER BY ALL"),
    ],
    row_format: Annotated[RowFormat, typer.Option("--format")] = RowFormat.TABLE,
) -> None:
    """Query a result in SQL, read only and without access to any other file."""
    from vtax.confinement.reading import confine

    confine([result])
    from vtax.results import Result

    opened = Result.open(result)
    for caution in (*opened.damaged, *opened.notes):
        print(caution, file=sys.stderr)
    try:
        rows = opened.query(query)
    except InputError as error:
        raise InputError(_one_sentence(str(error))) from None
    write_rows(rows, row_format, sys.stdout)


app.add_typer(testbed_commands, name="testbed")
for command in (report, compare, claims, history, export):
    app.command()(reading(command))
app.command()(merge)
app.command()(schema)
app.command()(certificates)
app.command()(host)

_whole = cache(partial(get_command, app))
"""All commands, made of their functions' signatures when they are first asked."""


def main(arguments: list[str] | None = None) -> int:
    """Run a command line and return its exit status; no expected error ends in a traceback."""
    own_standard_output()
    if arguments is None:
        Process.is_own = True
        hold_standard_streams()
    with visible_output():
        try:
            status = _carry_out(sys.argv[1:] if arguments is None else arguments)
            if sys.stdout is not None:  # as it is where it was closed before vtax began
                sys.stdout.flush()
        except OutputError as error:
            return _give_up_output(error)
        return status


def _carry_out(arguments: list[str]) -> int:
    """Run a command line; what ends it early is said on stderr. OutputError where its output cannot be written."""
    try:
        status = _whole().main(arguments or ["--help"], prog_name="vtax", standalone_mode=False)
        if status != INTERRUPTED:  # else typer has caught the KeyboardInterrupt
            return status or 0
        said = "vtax: interrupted"
    except InterruptedCampaignError as error:
        said, status = f"vtax: interrupted; {error}", INTERRUPTED
    except InputError as error:
        said, status = str(error), BAD_INPUT
    except ChangedFileError as error:
        said = f"{error}; completed trials are kept; continue with --resume RESULT"
        status = BROKE
    except ClusterError as error:
        said = f"{error}; completed trials are kept; continue with --testbeds FILE --resume RESULT"
        status = BROKE
    except TyperException as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "vtax"
        if isinstance(error.__cause__, ValidationError):
            error.message = value_problem(error.__cause__)
        said, status = f"vtax: {error.format_message()} (see {command} --help)", error.exit_code
    except OutputError:
        raise
    except Exception as error:
        return _broke(error)
    return _fail(said, status)


def _give_up_output(error: OutputError) -> int:
    """Say why standard output is not whole, unless its reader has had enough; Python does not try again as it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if error.errno == errno.EPIPE:
        return BROKE
    return _fail(
        f"vtax: standard output cannot be written: {error.strerror}; write it to where there is room", BROKE
    )


def _broke(error: Exception) -> int:
    """A disk's error with the next step; one line for what nobody expected, or all of it where VTAX_DEBUG asks."""
    if isinstance(error, OSError):
        from vtax.results import DiskError

        if isinstance(error, DiskError):
            return _fail(str(error), BROKE)
        if error.errno in DISK_ERRORS:
            place = f"{error.filename}: " if error.filename else ""
            return _fail(f"vtax: {place}{error.strerror}; make room there and repeat the command", BROKE)
    if os.environ.get("VTAX_DEBUG") == "1":
        traceback.print_exception(error)
        return BROKE
    frame = traceback.extract_tb(error.__traceback__)[-1]
    what = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    place = f"{Path(frame.filename).name}:{frame.lineno}"
    return _fail(f"vtax broke at {place}: {what}; VTAX_DEBUG=1 in the environment shows the traceback", BROKE)


def _fail(text: str, status: int) -> int:
    print(text, file=sys.stderr)
    return status


def _one_sentence(text: str) -> str:
    """DuckDB's message without the drawing of the query below it, and how names are found where it knows one not."""
    lines = (line.strip() for line in text.partition("\nLINE ")[0].splitlines())
    sentence = " ".join(line for line in lines if line)
    unknown = any(error in sentence for error in ("Binder Error", "Catalog Error"))
    return f"{sentence}; SHOW TABLES lists tables, DESCRIBE trials their columns" if unknown else sentence

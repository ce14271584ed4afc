"""Arguments and options that the commands have in common which carry out a campaign."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from vtax.inputs import InputError


def scenario_names(incomplete: str) -> list[str]:
    """What a shell completes a scenario's name to."""
    from vtax.scenario import list_scenarios

    return [scenario.name for scenario in list_scenarios() if scenario.name.startswith(incomplete)]


ScenarioName = Annotated[
    str,
    typer.Argument(
        help="A name of `vtax list scenarios`, or a path to a file.", autocompletion=scenario_names
    ),
]
Platforms = Annotated[str | None, typer.Option("--platform", metavar="A,B", help="Only these platforms.")]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=V1,V2", help="Values of a factor; a single one fixes it."),
]
Duration = Annotated[float | None, typer.Option(help="Seconds that each trial measures.")]
Seed = Annotated[int | None, typer.Option(min=0, help="Seed of the random order of trials.")]
Out = Annotated[Path | None, typer.Option(help="Directory of the result; by default results/<name>-<time>.")]
Resume = Annotated[
    Path | None,
    typer.Option(metavar="RESULT", help="Continue a campaign that did not end, as it was begun."),
]
TestbedPath = Annotated[
    Path | None, typer.Option(metavar="FILE", help="File of machines and links; by default this machine.")
]


def check_settled(resume: Path | None, settled: Mapping[str, object]) -> None:
    """Raise InputError for an option of what is settled of a campaign that goes on."""
    kept = [name for name, value in settled.items() if value is not None]
    if resume is not None and kept:
        raise InputError(f"--resume: a resumed campaign keeps its own settings; leave out {', '.join(kept)}")

"""Short campaigns of each kind of workload: tests/data/answers has their scenarios and what agents answered in them."""

import shutil
from pathlib import Path

from tests.helpers.paths import DATA

ANSWERS = DATA / "answers"
HEAD = "name: own/{kind}\ntitle: Lies\nquestion: Does it go on?\n"
TRACED = "-traced"
SCENARIOS = {path.stem: path.read_text() for path in sorted(ANSWERS.glob("*.yaml"))}
KINDS = tuple(sorted(path.stem for path in ANSWERS.glob("*.jsonl")))
"""Those of SCENARIOS; some twice, a second time with packets that are followed."""


def scenario(kind: str, directory: Path, repetitions: int = 1) -> Path:
    """Write a campaign of a kind, whose packets are followed where its name says so."""
    for program in (DATA / "programs").iterdir():
        shutil.copy(program, directory)
    text = SCENARIOS[kind.removesuffix(TRACED)]
    if kind.endswith(TRACED):
        text = text.replace("trace: none", "trace: stages")
    path = directory / f"{kind}.yaml"
    path.write_text(f"{HEAD.format(kind=kind)}{text}repetitions: {repetitions}\n")
    return path

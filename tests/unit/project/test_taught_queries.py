"""The queries that README, the documentation and --help teach: each gives one mean a cell, never one over several."""

import json
import re
from itertools import groupby
from pathlib import Path

import pytest

from tests.helpers.paths import ROOT
from tests.helpers.results.synthetic import make_result
from vtax.cli import main
from vtax.results import Result

TAUGHT = re.compile(r"(?:vtax sql (?:RESULT|results/\S+) '|As in: )(SELECT [^'[]*received_mbps[^'[]*)")
Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Several platforms, sizes and loads, as README's own example has."""
    directory = tmp_path_factory.mktemp("taught") / "made-up"
    return make_result(directory, platforms=["raw", "container"], streams=[1], loads=[10.0, 100.0, None])


def taught(capsys: Captured) -> list[tuple[str, str]]:
    """Each query with where it stands."""
    assert main(["sql", "--help"]) == 0
    texts = {"--help": " ".join(capsys.readouterr().out.split())}
    texts |= {str(path): path.read_text() for path in (ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")))}
    return [(where, query.strip()) for where, text in texts.items() for query in TAUGHT.findall(text)]


def test_every_query_that_is_taught_gives_the_mean_of_each_cell(result: Path, capsys: Captured) -> None:
    rows = Result.open(result).query("SELECT cell, received_mbps FROM cells ORDER BY cell").to_pylist()
    by_cell = [[row["received_mbps"] for row in cell] for _, cell in groupby(rows, lambda row: row["cell"])]
    means = sorted(sum(values) / len(values) for values in by_cell)
    assert len(means) == 12
    queries = taught(capsys)
    assert {"--help", str(ROOT / "README.md"), str(ROOT / "docs/results.md")} <= {
        where for where, _ in queries
    }
    for where, query in queries:
        assert main(["sql", str(result), query, "--format", "json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert sorted(row["avg(received_mbps)"] for row in found) == pytest.approx(means), (where, query)

"""The notebook of the docs runs on a result, cell by cell."""

import json
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest

from tests.helpers.paths import ROOT
from tests.helpers.results.builder import make
from tests.helpers.results.forwarding import Made

NOTEBOOK = ROOT / "docs/result.ipynb"


@pytest.mark.slow
def test_the_notebook_runs_and_tells_what_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trials = [Made(platform=name, block=block) for name in ("raw", "container") for block in (0, 1)]
    slow = [Made(platform="container", received_mbps=40.0, verdict="invalid")]
    make(tmp_path / "r", [*trials, *slow])
    monkeypatch.setenv("VTAX_RESULT", str(tmp_path / "r"))
    told: dict[str, Any] = {}
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    for cell in cells:
        assert not cell.get("outputs")
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), told)  # noqa: S102 - the docs' own code
    assert told["throughput_by_block"]("container") == {0: 100.0, 1: 100.0}
    assert set(told["delays"]) == {"raw", "container"}
    assert isinstance(told["figure"], go.Figure)

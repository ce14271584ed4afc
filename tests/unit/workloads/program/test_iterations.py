"""Iterations of programs as the views show them."""

from pathlib import Path

from tests.helpers.results.builder import make
from tests.helpers.results.program import MadeProgram
from vtax.views import write_report
from vtax.views.figures import draw_figures
from vtax.views.summary import summarise


def test_iterations_of_programs_are_shown_as_rounds_are(tmp_path: Path) -> None:
    runs = [
        MadeProgram(run, [base + us % 7 for us in range(200)], platform=platform, placement=placement)
        for platform, base in (("raw", 70.0), ("container", 80.0))
        for placement in ("inside", "inter-host")
        for run in range(2)
    ]
    runs.append(MadeProgram(2, [None] * 200, verdict="invalid"))
    result = make(tmp_path, runs)
    summary = summarise(result)
    labels = [row.setting.label for row in summary.runs.rounds]
    assert labels == ["lighttpd, inside"] * 2 + ["lighttpd, inter-host"] * 2
    assert [row.p50_ns for row in summary.runs.rounds] == [73_000, 83_000] * 2
    assert summary.has_usable
    figures = {figure.name: figure for figure in draw_figures(summary)}
    titles = [f"{platform}: {label}" for label in dict.fromkeys(labels) for platform in ("raw", "container")]
    for name in ("rounds-mesh", "rounds-histogram"):
        assert [panel.title for panel in figures[name].panels] == titles
    (left_out,) = (row for row in summary.cell_verdicts if row.invalid)
    assert (left_out.label, left_out.name) == ("", "raw, lighttpd, inside")
    assert "lighttpd, inter-host" in write_report(result).read_text()

"""A report's figures as files: composed by hand here, drawn by Chromium where that is the point."""

import re
from pathlib import Path

import pytest

from tests.helpers.results.builder import make
from tests.helpers.results.forwarding import blocks
from tests.helpers.results.synthetic import make_result
from vtax.cli import BAD_INPUT, main
from vtax.results import Result
from vtax.views import summarise
from vtax.views.export.sheet import sheet
from vtax.views.figures import draw_figures
from vtax.views.palette import styles

HOSTILE = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("figures") / "r"
    return make_result(
        directory, platforms=("raw", "container"), streams=(1, 2), loads=(100.0, None), repetitions=2
    )


def test_a_sheet_has_each_panel_in_a_place_of_its_own(result: Path) -> None:
    summary = summarise(Result.open(result))
    figure = next(each for each in draw_figures(summary) if each.name == "maximum-by-streams")
    drawn = sheet(figure, styles(summary.platforms))
    layout = drawn["layout"]
    places = [
        (layout[f"xaxis{number}"]["domain"], layout[f"yaxis{number}"]["domain"])
        for number in range(1, len(figure.panels) + 1)
    ]
    for (left, right), (bottom, top) in places:
        assert 0 <= left < right <= 1
        assert 0 <= bottom < top <= 1
    for one in range(len(places)):
        for other in range(one):
            apart = [a[1] < b[0] or b[1] < a[0] for a, b in zip(places[one], places[other], strict=True)]
            assert any(apart)
    traces = sum(len(panel.plot.data) for panel in figure.panels)
    legend = [trace["name"] for trace in drawn["data"] if trace["showlegend"]]
    assert legend == ["raw", "container"]
    assert len(drawn["data"]) == traces + len(legend)
    assert [note["text"] for note in layout["annotations"]] == [f"<b>{p.title}</b>" for p in figure.panels]


@pytest.mark.parametrize("rates", [[100.0, 101.0, 99.0], [60.0, 140.0]])
def test_a_whisker_is_drawn_whole_unless_it_is_longer_than_its_point_is_high(
    rates: list[float], tmp_path: Path
) -> None:
    summary = summarise(make(tmp_path / "r", blocks(rates)))
    (row,) = summary.loads.throughput
    figure = next(each for each in draw_figures(summary) if each.name == "throughput-by-load")
    low, high = figure.panels[0].plot.layout.yaxis.range
    assert row.received_mbps.high is not None
    assert low == 0
    assert high >= min(row.received_mbps.high, 2 * row.received_mbps.value)
    assert high < 3 * row.received_mbps.value


def test_names_in_a_sheet_are_escaped(tmp_path: Path) -> None:
    summary = summarise(
        make(tmp_path / "r", blocks([90, 80], platform=HOSTILE, further=(("cap_mbps", HOSTILE),)))
    )
    for figure in draw_figures(summary):
        if figure.panels:
            drawn = sheet(figure, styles(summary.platforms))
            assert not [trace for trace in drawn["data"] if "<" in trace.get("name", "")]
            assert not [note for note in drawn["layout"]["annotations"] if "<img" in note["text"]]


@pytest.mark.slow
def test_every_figure_becomes_a_file(
    result: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(result), str(tmp_path / "svg"), "--format", "svg"]) == 0
    names = [Path(line).name for line in capsys.readouterr().out.splitlines()]
    assert names == [
        "throughput-by-load.svg",
        "maximum-by-streams.svg",
        "delay-percentiles.svg",
        "loss-by-load.svg",
    ]
    assert sorted(path.name for path in (tmp_path / "svg").iterdir()) == sorted(names)
    text = (tmp_path / "svg" / "throughput-by-load.svg").read_text(encoding="utf-8")
    assert text.startswith("<svg")
    assert text.count('class="subplot ') == 2
    assert {"raw", "container"} <= set(re.findall(r'class="legendtext"[^>]*>([^<]*)<', text))
    assert main(["report", str(result), "--format", "pdf"]) == 0
    assert (result / "figures" / "loss-by-load.pdf").read_bytes().startswith(b"%PDF-")


def test_the_page_goes_where_it_is_wanted(
    result: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(result), str(tmp_path / "place")]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "place" / "report.html")
    assert (tmp_path / "place" / "report.html").exists()
    assert not (result / "report.html").exists()


@pytest.mark.parametrize("form", ["html", "png"])
def test_a_file_is_no_place(
    result: Path, tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("kept")
    assert main(["report", str(result), str(tmp_path / "file"), "--format", form]) == BAD_INPUT
    assert f"{tmp_path}/file: is a file" in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == "kept"


def test_an_unknown_format_is_refused_with_those_there_are(
    result: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(result), "--format", "gif"]) == BAD_INPUT
    assert "allowed: html, pdf, svg, png" in capsys.readouterr().err


def test_a_result_without_figures_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make(tmp_path / "r", blocks([90], verdict="invalid"))
    assert main(["report", str(tmp_path / "r"), str(tmp_path / "out"), "--format", "pdf"]) == BAD_INPUT
    assert "no figure to write" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_without_chromium_the_next_step_is_named(
    result: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BROWSER_PATH", str(tmp_path / "none"))
    assert main(["report", str(result), str(tmp_path / "out"), "--format", "svg"]) == BAD_INPUT
    assert "apt-get install chromium" in capsys.readouterr().err
    assert list((tmp_path / "out").iterdir()) == []

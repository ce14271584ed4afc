"""Tables on terminals of every width: no column is dropped, no value is lost, no name is set in vertical letters."""

import io
import json
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from tests.helpers.results.kinds import RESULTS
from tests.helpers.results.synthetic import make_result
from vtax.cli import main
from vtax.text_table import LONG_WORD, TextTable

Captured = pytest.CaptureFixture[str]
WIDTHS = [40, 60, 80, 120, 200]
PAGE = 100
"""No table of a result is wider."""


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("table") / "made-up"
    return make_result(directory, platforms=["raw", "container"], streams=[1], loads=[100.0, None])


def printed(arguments: list[str], width: int, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a command prints on a terminal of this width."""
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(arguments) == 0
    return re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_row_of_more_columns_than_fit_is_a_record(
    width: int, result: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "SELECT * FROM trials ORDER BY trial_id LIMIT 2"
    assert main(["sql", str(result), query, "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    _, *records = re.split(
        r"-\[ \d+ \]-+\n", printed(["sql", str(result), query], width, capsys, monkeypatch)
    )
    assert len(records) == len(rows) == 2
    for row, record in zip(rows, records, strict=True):
        lines = [line.partition(" ") for line in record.splitlines()]
        wanted = {
            name: value if isinstance(value, str) else "" if value is None else json.dumps(value)
            for name, value in row.items()
        }
        assert {name: value.strip() for name, _, value in lines} == wanted


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("columns", range(1, 12))
def test_each_name_and_value_of_a_query_stands_on_one_line(
    columns: int, width: int, result: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = f"SELECT {', '.join(f'{17**number} AS name_{number}' for number in range(columns))}"
    lines = printed(["sql", str(result), query], width, capsys, monkeypatch).splitlines()
    for number in range(columns):
        assert any(re.search(rf"\bname_{number}\b", line) for line in lines)
        assert any(re.search(rf"\b{17**number}\b", line) for line in lines)


def test_a_query_without_rows_still_names_its_columns(
    result: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = printed(["sql", str(result), "SELECT * FROM trials WHERE false"], 80, capsys, monkeypatch)
    assert text.startswith("no rows; columns: trial_id, cell, ")
    text = printed(["sql", str(result), "SELECT cell FROM trials WHERE false"], 80, capsys, monkeypatch)
    assert text.split() == ["cell"]


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", RESULTS)
def test_show_loses_nothing_on_a_narrow_terminal(
    kind: str, width: int, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = RESULTS[kind](tmp_path / "result")

    def words(width: int) -> Counter[str]:
        text = printed(["show", str(made.directory)], width, capsys, monkeypatch)
        return Counter(word.strip(",") for word in text.split() if len(word) <= LONG_WORD)

    whole, narrow = words(PAGE), words(width)
    heads = {word for word in whole if not any(map(str.isdigit, word))}
    assert heads <= set(narrow)
    assert not (Counter({word: n for word, n in whole.items() if word not in heads}) - narrow)


WORDS = st.text("abcxyz019µ±", min_size=1, max_size=LONG_WORD)


@given(
    heads=st.lists(WORDS, min_size=1, max_size=8),
    data=st.data(),
    width=st.integers(1, 120),
    rows=st.integers(0, 4),
)
def test_any_table_is_printed_whole_or_as_records(
    heads: list[str], data: st.DataObject, width: int, rows: int
) -> None:
    cells = [[data.draw(WORDS) for _ in heads] for _ in range(rows)]
    table = TextTable(heads, [data.draw(st.booleans()) for _ in heads], [("", cells)])
    stream = io.StringIO()
    table.print(Console(file=stream, width=width), width)
    text = stream.getvalue()
    lines = text.splitlines()
    assert not (
        Counter([*heads, *(cell for row in cells for cell in row)]) - Counter(re.split(r",?\s+", text))
    )
    if not text.startswith(("-[", "no rows")):
        assert max(map(len, lines)) <= width
        assert len(lines) == 1 + rows

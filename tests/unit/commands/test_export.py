"""A result for other programs: frames, files, metrics; the schemas of what users write, and completion in a shell."""

import csv
import io
import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars
import pyarrow as pa
import pytest

import vtax
from tests.helpers.paths import VTAX
from tests.helpers.results.builder import make
from tests.helpers.results.forwarding import Made, blocks
from vtax.cli import main
from vtax.inputs import InputError
from vtax.platforms import presets
from vtax.registry.keys import KINDS
from vtax.results import Result
from vtax.scenario.schema import ScenarioFile
from vtax.views.export import tables_document

Captured = pytest.CaptureFixture[str]
HOSTILE = 'a"b\\c\nd'


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    trials = [
        *blocks([90.0, 92.0, 91.0], platform="raw"),
        Made(HOSTILE, verdict="invalid", reasons=("a, b", "c")),
    ]
    return make(tmp_path_factory.mktemp("export") / "result", trials)


def test_frames_hold_every_row_with_its_nulls(result: Result) -> None:
    frames = vtax.load(result.directory)
    assert set(frames) == {*result.tables, "cells"}
    assert all(len(frames[name]) == rows.num_rows for name, rows in result.tables.items())
    assert sorted(frames["cells"]["received_mbps"]) == [90.0, 91.0, 92.0]
    assert frames["trials"]["reasons"].dtype == polars.List(polars.String)
    assert frames["trials"]["verdict"].dtype == frames["cells"]["platform"].dtype == polars.String
    assert frames["flows"]["rtt_ns"].null_count() == 4


def test_frames_warn_of_what_is_lost(result: Result, tmp_path: Path) -> None:
    damaged = make(tmp_path / "damaged", [Made()])
    (damaged.directory / "cpu/block-0000.parquet").unlink()
    with pytest.warns(UserWarning, match=r"cpu/block-0000.parquet: missing"):
        assert len(vtax.load(damaged.directory)["trials"]) == 1
    with pytest.raises(InputError, match="no result here"):
        vtax.load(tmp_path)


def test_frames_without_polars_say_how_to_get_it(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(InputError, match=r"pip install 'vtax\[frames\]'"):
        vtax.load(result.directory)


FORMULAS = ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(1)", "\t=1", "\r=1"]
TEXTS = ["a=b", " =1", "'=1", "5-1", ""]


def test_no_text_in_csv_is_a_formula(tmp_path: Path, capsys: Captured) -> None:
    """Neither a cell nor a head is one in any CSV; numbers stay numbers."""
    factor = "=1+1"
    trials = [
        Made(platform=f"{number}", block=number, received_mbps=-5.0, further=((factor, text),))
        for number, text in enumerate([*FORMULAS, *TEXTS])
    ]
    made = make(tmp_path / "result", trials)
    expected = [*(f"'{text}" for text in FORMULAS), *TEXTS]
    assert main(["export", str(made.directory), "--format", "csv", "--out", str(tmp_path / "csv")]) == 0
    capsys.readouterr()
    with (tmp_path / "csv/trials.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row[f"'{factor}"] for row in rows] == expected
    with (tmp_path / "csv/flows.csv").open(newline="", encoding="utf-8") as file:
        assert {row["received_mbps"] for row in csv.DictReader(file)} == {"-5"}
    query = f'SELECT "{factor}", trial_id - 5 AS "-n" FROM trials ORDER BY trial_id'  # noqa: S608
    assert main(["sql", str(made.directory), query, "--format", "csv"]) == 0
    head, *lines = csv.reader(io.StringIO(capsys.readouterr().out))
    assert head == [f"'{factor}", "'-n"]
    assert [text.replace(r"\r", "\r") for text, _ in lines] == expected
    assert [number for _, number in lines] == [str(number - 5) for number in range(len(expected))]


def test_csv_is_a_file_a_table(result: Result, tmp_path: Path, capsys: Captured) -> None:
    assert main(["export", str(result.directory), "--format", "csv", "--out", str(tmp_path / "csv")]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(result.tables)
    with (tmp_path / "csv/trials.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    invalid = next(row for row in rows if row["verdict"] == "invalid")
    assert (len(rows), invalid["platform"], json.loads(invalid["reasons"])) == (4, HOSTILE, ["a, b", "c"])
    assert invalid["transport"] == ""


def test_json_is_one_document(result: Result, tmp_path: Path, capsys: Captured) -> None:
    assert main(["export", str(result.directory), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["campaign"]["name"] == "handmade"
    assert {name: len(rows) for name, rows in document["tables"].items()} == {
        name: rows.num_rows for name, rows in result.tables.items()
    }
    assert main(["export", str(result.directory), "--format", "json", "--out", str(tmp_path / "a.json")]) == 0
    assert json.loads((tmp_path / "a.json").read_text()) == document


def test_json_has_null_for_what_is_no_number(result: Result) -> None:
    flows = result.tables["flows"]
    place = flows.schema.get_field_index("received_mbps")
    values = pa.array([math.nan, math.inf, 91.0, None])
    broken = replace(
        result, tables={**result.tables, "flows": flows.set_column(place, flows.schema.field(place), values)}
    )
    document = json.loads("".join(tables_document(broken)), parse_constant=pytest.fail)
    assert [row["received_mbps"] for row in document["tables"]["flows"]] == [None, None, 91.0, None]


def test_openmetrics_has_each_cell_with_its_interval(tmp_path: Path, capsys: Captured) -> None:
    made = make(
        tmp_path / "r", blocks([90.0, 92.0], platform=HOSTILE), finished_at="2026-01-01T00:00:00+00:00"
    )
    assert main(["export", str(made.directory), "--format", "openmetrics"]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert lines[-2:] == ["# EOF", ""]
    samples = [line for line in lines if line.startswith("vtax_throughput_bits_per_second{")]
    assert len(samples) == 3  # mean, low, high
    assert 'cell="platform=a\\"b\\\\c\\nd ' in samples[0]
    assert samples[0].endswith('bound="mean"} 91000000.0 1767225600.000')
    medians = [line.split()[-2] for line in lines if line.startswith("vtax_latency_p50_seconds{")]
    bucket = 5e-6 / 128
    assert [float(median) for median in medians] == pytest.approx([5e-6, 5e-6 - bucket, 5e-6 + bucket])
    for name in {line.split("{")[0] for line in lines if "{" in line}:
        assert f"# TYPE {name} gauge" in lines


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--format", "csv"], "name a new directory with --out"),
        (["--format", "csv", "--out", "."], "not empty"),
        (["--format", "json", "--out", "/nowhere/a.json"], "--out: /nowhere/a.json: No such file"),
        (["--format", "xml"], "csv"),
    ],
)
def test_what_cannot_be_exported(arguments: list[str], said: str, result: Result, capsys: Captured) -> None:
    assert main(["export", str(result.directory), *arguments]) == 2
    assert said in capsys.readouterr().err


def described(what: str, capsys: Captured) -> dict[str, Any]:
    assert main(["schema", what]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_scenarios_schema_knows_every_key_of_every_scenario(capsys: Captured) -> None:
    schema = described("scenario", capsys)
    assert set(schema["properties"]) == set(ScenarioFile.model_fields)
    kinds = {
        kind["properties"]["kind"]["const"]: kind
        for kind in schema["$defs"].values()
        if "kind" in kind["properties"]
    }
    forwarding = kinds["forwarding"]["properties"]["intended_mbps"]
    assert {"const": "max"} in forwarding["anyOf"] and {"type": "null"} not in forwarding["anyOf"]
    assert all(name in json.dumps(schema) for name in ("allowed", "additionalProperties"))
    assert sorted(kinds) == sorted(KINDS)


def test_a_testbeds_schema_gives_words_for_defaults(capsys: Captured) -> None:
    link = described("testbed", capsys)["properties"]["link_mbps"]
    assert link["default"] == "unlimited"
    assert {"const": "unlimited"} in link["anyOf"]


def test_a_presets_schema_has_the_keys_of_each_kind(capsys: Captured) -> None:
    schema = described("preset", capsys)
    for preset in presets().values():
        of_kind = next(
            part
            for part in schema["$defs"].values()
            if part["properties"].get("kind", {}).get("const") == preset.kind
        )
        reference = of_kind["properties"]["config"]["$ref"].rpartition("/")[2]
        assert set(schema["$defs"][reference]["properties"]) == set(preset.keys)
    assert schema["discriminator"]["propertyName"] == "kind"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "wanted"), [("vtax comp", "compare"), ("vtax run schlosser2011/", "schlosser2011/dedicated")]
)
def test_a_shell_completes_commands_and_scenarios(words: str, wanted: str) -> None:
    environment = {
        **os.environ,
        "_VTAX_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    done = subprocess.run([VTAX], env=environment, check=False, capture_output=True, text=True)
    assert wanted in done.stdout.split()

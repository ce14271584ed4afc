"""The command line: exit statuses, what goes to which stream, and that bad input starts nothing."""

import csv
import errno
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import vtax.campaign
from tests.helpers.json_schema import broken
from tests.helpers.results.synthetic import make_result
from vtax.campaign import Outcome, Progress
from vtax.cli import main
from vtax.doctor import Check
from vtax.documents.schema import document_schema
from vtax.inputs.needs import Consent, NeedKind
from vtax.listing import print_checks
from vtax.scenario import Scenario
from vtax.scenario.load import SCENARIOS
from vtax.testbed.machines import Machines
from vtax.workloads.forwarding.keys import Forwarding

Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small made-up result."""
    directory = tmp_path_factory.mktemp("results") / "made-up"
    return make_result(
        directory,
        platforms=["raw", "container"],
        streams=[1],
        frame_bytes=[64],
        loads=[100.0, None],
        repetitions=2,
    )


class Campaign:
    """Stands in for a campaign: keeps what it was asked, tells its progress, and hands over a made-up result."""

    def __init__(self, result: Path) -> None:
        self.directory = result
        self.unusable: list[tuple[str, str]] = []
        self.error: BaseException | None = None
        self.scenarios: list[Scenario] = []

    def run(
        self,
        scenario: Scenario,
        *,
        out: Path | None,
        seed: int | None,
        resume: Path | None,
        blocks: list[int] | None,
        allow: frozenset[NeedKind],
        consent: Consent,
        machines: Machines,
        judging: object,
        progress: Progress,
    ) -> Outcome:
        self.scenarios.append(scenario)
        self.out, self.seed = out, seed
        if self.error:
            raise self.error
        progress.campaign(scenario.name, 1, self.directory)
        progress.trial_started(1, "platform=raw")
        progress.trial_finished(1, "valid", "received 99.9 of 100.0 Mbit/s")
        progress.finished()
        return Outcome(self.directory, self.unusable)


@pytest.fixture
def campaign(result: Path, monkeypatch: pytest.MonkeyPatch) -> Campaign:
    stand_in = Campaign(result)
    monkeypatch.setattr(vtax.campaign, "run", stand_in.run)
    return stand_in


def test_help_without_arguments(capsys: Captured) -> None:
    assert main([]) == 0
    assert "run" in capsys.readouterr().out


def test_version(capsys: Captured) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"vtax {vtax.__version__}\n"


def test_help_loads_none_of_the_heavy_parts() -> None:
    heavy = "{'duckdb', 'pyarrow', 'plotly', 'scipy', 'pyroute2'}"
    program = f"import sys, vtax.cli; vtax.cli.main(['--help']); sys.exit(bool({heavy} & set(sys.modules)))"
    assert (
        subprocess.run([sys.executable, "-c", program], check=False, stdout=subprocess.DEVNULL).returncode
        == 0
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rum"], "Did you mean 'run'?"),
        (["run"], "Missing argument"),
        (["run", "quick", "--sed", "1"], "(see vtax run --help)"),
        (["testbed", "check"], "(see vtax testbed check --help)"),
        (["run", "quick", "--seed", "-1"], "--seed"),
        (["run", "quick", "--repetitions", "two"], "--repetitions"),
        (["list", "things"], "scenarios"),
        (["show"], "Missing argument"),
    ],
)
def test_a_wrong_command_line(arguments: list[str], said: str, capsys: Captured) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""


@pytest.mark.parametrize("what", [[], ["scenarios"], ["platforms"]])
def test_lists(what: list[str], capsys: Captured) -> None:
    assert main(["list", *what]) == 0
    listed = capsys.readouterr().out
    assert ("schlosser2011/dedicated" in listed) == (what != ["platforms"])
    assert ("qemu-virtio" in listed) == (what != ["scenarios"])


def test_platforms_have_their_accelerator_and_versions_beside_them() -> None:
    checks = [
        Check("machine", "agent", True, "built"),
        Check("platforms", "qemu", True, "title", None, "kvm", {"QEMU": "9.1", "dpdk": "DPDK 22.11"}),
        Check("platforms", "lxc", False, "absent", "get it"),
    ]
    print_checks(checks, stream := io.StringIO())
    lines = [line.split() for line in stream.getvalue().splitlines()]
    assert lines == [
        ["machine", "usable"],
        ["agent", "yes", "built"],
        ["platforms", "usable", "accelerator"],
        ["qemu", "yes", "kvm", "title"],
        ["QEMU", "9.1,", "DPDK", "22.11"],
        ["lxc", "no", "absent"],
        ["get", "it"],
    ]


def test_a_remedy_stands_whole_on_a_line_of_its_own_however_narrow_the_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("FORCE_COLOR", "1")
    fix = "apt-get update && " + "apt-get install --yes something " * 3
    checks = [
        Check("machine", "tc", False, "missing " * 20, fix.strip()),
        Check("links", "[red]", True, "x"),
    ]
    print_checks(checks, stream := io.StringIO())
    plain = re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue())
    assert plain != stream.getvalue()
    lines = [line.rstrip() for line in plain.splitlines()]
    assert f"      {fix}".rstrip() in lines
    assert all(len(line) <= 80 for line in lines if "apt-get" not in line)
    assert any(line.split() == ["[red]", "yes", "x"] for line in lines)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["quik"], 'no scenario "quik"; did you mean "quick"?'),
        (["quick", "--set", "frame_bytes=63"], "--set frame_bytes=63: workload.frame_bytes: 63 is too small"),
        (["quick", "--set", "duration=5"], 'unknown factor "duration"'),
        (["quick", "--duration", "0"], "--duration 0: workload.duration_s: 0.0 is too small"),
        (["quick", "--repetitions", "0"], "--repetitions 0: repetitions: 0 is too small"),
        (["quick", "--platform", ""], "is not the name of a platform preset"),
    ],
)
@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_bad_input_starts_nothing(
    arguments: list[str], flags: list[str], said: str, campaign: Campaign, capsys: Captured
) -> None:
    assert main(["run", *arguments, *flags]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""
    assert campaign.scenarios == []


def test_an_unknown_platform_is_refused_before_anything_starts(tmp_path: Path, capsys: Captured) -> None:
    out = tmp_path / "result"
    assert main(["run", "quick", "--platform", "raw,qemu-virtoi", "--out", str(out)]) == 2
    captured = capsys.readouterr()
    assert "--platform raw,qemu-virtoi: " in captured.err
    assert 'did you mean "qemu-virtio"? vtax list platforms prints them all' in captured.err
    assert len(captured.err) < 2 * 80
    assert not out.exists()


def test_a_file_is_refused_by_file_and_line(tmp_path: Path, campaign: Campaign, capsys: Captured) -> None:
    path = tmp_path / "own.yaml"
    path.write_text("name: own\nduration: 5\n")
    assert main(["run", str(path)]) == 2
    assert f'{path}:2: duration: unknown key "duration"; did you mean' in capsys.readouterr().err
    assert campaign.scenarios == []


def test_an_unknown_figure_starts_nothing(tmp_path: Path, campaign: Campaign, capsys: Captured) -> None:
    path = tmp_path / "own.yaml"
    quick = (SCENARIOS / "quick.yaml").read_text()
    path.write_text(quick.replace("[throughput-by-load,", "[throughput-by-lod,"))
    assert main(["run", str(path)]) == 2
    assert f'{path}:18: figures: no figure "throughput-by-lod"' in capsys.readouterr().err
    assert campaign.scenarios == []


def test_run_prints_tables_and_the_reports_path(campaign: Campaign, capsys: Captured) -> None:
    options = [
        "--platform",
        "raw,container",
        "--set",
        "frame_bytes=64",
        "--repetitions",
        "2",
        "--duration",
        "0.5",
    ]
    assert main(["run", "quick", *options, "--seed", "7", "--out", "somewhere"]) == 0
    captured = capsys.readouterr()
    report_path = Path(captured.out.splitlines()[-1].removeprefix("report: "))
    assert report_path.is_file()
    assert "container" in captured.out
    assert "[1/1] platform=raw: received 99.9 of 100.0 Mbit/s (valid)" in captured.err
    (scenario,) = campaign.scenarios
    assert (scenario.platforms, scenario.repetitions) == (["raw", "container"], 2)
    assert {(cell.of(Forwarding).frame_bytes, cell.workload.duration_s) for cell in scenario.cells()} == {
        (64, 0.5)
    }
    assert (campaign.seed, campaign.out) == (7, Path("somewhere"))


def test_run_prints_one_json_document(campaign: Campaign, capsys: Captured) -> None:
    campaign.unusable = [("platform=raw", "the source lost its link")]
    assert main(["run", "quick", "--json"]) == 3
    document = json.loads(capsys.readouterr().out)
    assert document["unusable"] == [{"cell": "platform=raw", "reason": "the source lost its link"}]
    assert Path(document["report"]).parent == Path(document["directory"]) == campaign.directory
    assert broken(document, document_schema("run")) == []


def test_cells_without_a_usable_trial_are_named_with_their_reason(
    campaign: Campaign, capsys: Captured
) -> None:
    campaign.unusable = [
        ("platform=a", "no qemu; apt-get install it"),
        ("platform=b", "no qemu; apt-get install it"),
    ]
    assert main(["run", "quick"]) == 3
    assert (
        "no usable trial: no qemu; apt-get install it\n  platform=a\n  platform=b\n"
        in capsys.readouterr().err
    )


def test_interruption(campaign: Campaign, capsys: Captured) -> None:
    campaign.error = KeyboardInterrupt()
    assert main(["run", "quick"]) == 130
    assert capsys.readouterr().err == "vtax: interrupted; completed trials are kept\n"


def test_a_full_disk_is_named_with_the_next_step(campaign: Campaign, capsys: Captured) -> None:
    campaign.error = OSError(errno.ENOSPC, "No space left on device", "results/x/trials/block-0000.parquet")
    assert main(["run", "quick"]) == 1
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith(
        "results/x/trials/block-0000.parquet: No space left on device; completed trials are kept"
    )
    assert "--resume" in said


def test_a_broken_part_is_one_line(
    campaign: Campaign, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign.error = RuntimeError("the sky fell\nin pieces")
    assert main(["run", "quick"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("vtax broke at test_cli.py:")
    assert "RuntimeError: the sky fell; VTAX_DEBUG=1" in line
    monkeypatch.setenv("VTAX_DEBUG", "1")
    assert main(["run", "quick"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_show(result: Path, capsys: Captured) -> None:
    assert main(["show", str(result)]) == 0
    assert "container" in capsys.readouterr().out
    assert main(["show", str(result), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)


def test_report(result: Path, capsys: Captured) -> None:
    assert main(["report", str(result)]) == 0
    assert Path(capsys.readouterr().out.strip()).read_text().startswith("<!")


@pytest.mark.parametrize("command", [["show"], ["report"], ["sql", "SELECT 1"]])
def test_what_is_no_result(command: list[str], tmp_path: Path, capsys: Captured) -> None:
    assert main([command[0], str(tmp_path), *command[1:]]) == 2
    assert str(tmp_path) in capsys.readouterr().err


QUERY = """
    SELECT platform, count(*) AS n, sum(n) OVER () AS "all", marks, NULL AS nothing, 'nan'::DOUBLE AS nan,
           TIMESTAMP '2025-01-02 03:04:05' AS at, 1.5::DECIMAL(3, 1) AS half, 'a,"b' AS n
    FROM (SELECT DISTINCT platform, ['x'] AS marks, 1 AS n FROM trials) GROUP BY platform, marks, n ORDER BY platform
"""


def test_sql_as_json(result: Path, capsys: Captured) -> None:
    assert main(["sql", str(result), QUERY, "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["platform"] for row in rows] == ["container", "raw"]
    assert rows[0] == {
        "platform": "container",
        "n": 1,
        "all": 2,
        "marks": ["x"],
        "nothing": None,
        "nan": None,
        "at": "2025-01-02T03:04:05",
        "half": 1.5,
        "n_9": 'a,"b',
    }


def test_sql_of_a_map_of_times(result: Path, capsys: Captured) -> None:
    query = "SELECT MAP {'a': TIMESTAMP '2025-01-02 03:04:05'} AS begun"
    assert main(["sql", str(result), query, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"begun": [["a", "2025-01-02T03:04:05"]]}]


def test_sql_as_csv(result: Path, capsys: Captured) -> None:
    assert main(["sql", str(result), QUERY, "--format", "csv"]) == 0
    head, first, _ = csv.reader(io.StringIO(capsys.readouterr().out))
    assert head == ["platform", "n", "all", "marks", "nothing", "nan", "at", "half", "n"]
    assert first == ["container", "1", "2", '["x"]', "", "", "2025-01-02T03:04:05", "1.5", 'a,"b']


def test_sql_as_a_table_keeps_long_cells_whole(result: Path, capsys: Captured) -> None:
    assert main(["sql", str(result), "SELECT repeat('x', 500) AS long, '[red]' AS markup"]) == 0
    assert "x" * 500 + " " in (out := capsys.readouterr().out)
    assert "[red]" in out


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT nope FROM trials", "nope"),
        ("SELECT nope FROM trials", "; SHOW TABLES lists tables, DESCRIBE trials their columns"),
        ("SELECT 1 +", "syntax error"),
        ("DROP VIEW trials", "SELECT"),
        ("SELECT * FROM read_csv('/etc/passwd')", ""),
        ("", ""),
    ],
)
def test_a_query_that_fails_is_one_line(query: str, said: str, result: Path, capsys: Captured) -> None:
    assert main(["sql", str(result), query]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert len(captured.err.splitlines()) == 1
    assert "root:" not in captured.err + captured.out

"""Scenario and preset files with anything in them, and any command line: refused in one message, or good to start.

Everything up to the point where a campaign would touch the machine is the real thing.
"""

import copy
import itertools
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import vtax.campaign
from vtax.campaign.platform_set import resolve
from vtax.cli import main
from vtax.inputs import InputError
from vtax.inputs.document import MAX_BYTES
from vtax.platforms.preset import DIRECTORY, presets
from vtax.scenario import Scenario, load_scenario
from vtax.scenario.grid import MAX_CELLS
from vtax.scenario.load import SCENARIOS

any_input = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None
)
PATIENCE_S = 60.0
"""Of CPU time, for the worst file of the largest size, on a slow machine."""

TOKENS = [
    *(
        "- ",
        "? ",
        ": ",
        ":",
        ",",
        "[",
        "]",
        "{",
        "}",
        "|",
        ">",
        "\n",
        "\n  ",
        "\t",
        "---\n",
        "...\n",
        "%YAML 1.1\n",
    ),
    *(
        "&a ",
        "*a",
        "<<: *a",
        "!!python/object:os.system ",
        "!!int ",
        "!!binary ",
        "!x ",
        "# ",
        "'",
        '"',
        "\\",
    ),
    *("\0", "\x85", "\u2028", "\ufeff", "\ud7ff", "\U0010ffff", "\u202e", '"\\u0000"', '"\\ud800"'),
    *(".nan", "-.inf", ".inf", "1e999", "-0", "0x7f", "0o17", "1_000", "9" * 30, "-9223372036854775808"),
    *("2020-01-01", "2001-12-14t21:59:43.10-05:00", "1:30", "~", "null", "on", "yes", "true"),
    *("name", "workload", "factors", "platform", "testbed", "raw", "kind", "forwarding", "figures", "max"),
]
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([2**63, -(2**63), 2**64, 10**30, 0, -1])
    | st.floats()
    | st.dates()
    | st.text(max_size=8)
    | st.binary(max_size=8)
    | st.sampled_from(["raw", "container", "qemu-virtio", "max", "unlimited"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
KEYS = st.sampled_from(["platform", "streams", "mtu", "vcpus", "nic_model", "testbed", "kind"]) | st.text(
    max_size=8
)


def nodes(tree: Any) -> list[tuple[Any, Any]]:
    """Every place in a tree that holds something: its parent, and its key or index there."""
    places = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    below = [(tree, place) for place, _ in places]
    return below + [node for _, inner in list(places) for node in nodes(inner)]


@st.composite
def mutated(draw: st.DrawFn, path: Path) -> str:
    """The file at `path` as YAML text, with one to four faults at any place of it."""
    tree = yaml.safe_load(path.read_text())
    for _ in range(draw(st.integers(1, 4))):
        if not (places := nodes(tree)):
            break
        parent, place = draw(st.sampled_from(places))
        match draw(st.sampled_from(["replace", "drop", "add", "repeat", "move"])):
            case "replace":
                parent[place] = draw(VALUES)
            case "drop":
                del parent[place]
            case "add" if isinstance(parent, dict):
                parent[draw(KEYS)] = draw(VALUES)
            case "repeat" if isinstance(parent, list):
                parent.insert(place, parent[place])
            case "move":
                other, at = draw(st.sampled_from(places))
                other[at] = copy.deepcopy(parent[place])
            case _:
                parent[place] = [parent[place]]
    return yaml.safe_dump(tree)


def as_text(tree: Any) -> str:
    return yaml.safe_dump(tree)


@st.composite
def edited(draw: st.DrawFn, path: Path) -> str:
    """The file at `path`, with tokens of YAML written into it or over it."""
    text = path.read_text()
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.sampled_from(TOKENS)) + text[at + draw(st.integers(0, 12)) :]
    return text


def contents(paths: list[Path]) -> st.SearchStrategy[bytes]:
    texts = st.one_of(
        st.lists(st.sampled_from(TOKENS), max_size=30).map("".join),
        VALUES.map(as_text),
        st.sampled_from(paths).flatmap(edited),
        st.sampled_from(paths).flatmap(mutated),
    )
    return st.binary(max_size=200) | texts.map(lambda text: text.encode("utf-8", "replace"))


SCENARIO_FILES = [SCENARIOS / "quick.yaml", SCENARIOS / "schlosser2011/dedicated.yaml"]


def assert_one_line_each(error: InputError, path: Path) -> None:
    """Every problem names the file; none writes more than text to a terminal."""
    lines = str(error).split("\n")
    assert all(line.startswith(str(path)) and line.isprintable() for line in lines)


def check_scenario(path: Path) -> None:
    """Either the file's scenario is good to start, within bounds, or it is refused by name."""
    try:
        scenario = load_scenario(str(path))
        cells = scenario.cells()
        assert 1 <= len(cells) <= MAX_CELLS
        assert len({cell.key for cell in cells}) == len(cells)
        assert Scenario.from_resolved(scenario.resolved()).cells() == cells
        resolve(scenario, cells)
    except InputError as error:
        assert_one_line_each(error, path)


@pytest.mark.slow
@pytest.mark.fuzz
@any_input
@given(contents(SCENARIO_FILES))
def test_any_scenario_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "own.yaml"
    path.write_bytes(content)
    check_scenario(path)


@pytest.mark.slow
@pytest.mark.fuzz
@any_input
@given(contents(sorted(DIRECTORY.glob("*.yaml"))), st.dictionaries(KEYS, VALUES, max_size=2))
def test_any_preset_file(tmp_path: Path, content: bytes, overrides: dict[str, Any]) -> None:
    path = tmp_path / "own.yaml"
    path.write_bytes(content)
    try:
        preset = presets(tmp_path)["own"]
        preset.problems(overrides)
        preset.resolve({})
        preset.platform()
    except InputError as error:
        assert_one_line_each(error, path)


def worst(*factors: str) -> str:
    quick = (SCENARIOS / "quick.yaml").read_text()
    return quick.replace("  frame_bytes: [64, 1500]\n  intended_mbps: [10, 100, max]\n", "".join(factors))


def many(name: str, count: int) -> str:
    return f"  {name}: {list(range(1, count + 1))}\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "a: [" + "1," * (MAX_BYTES // 2),
        "a: {" + "".join(f"k{number}: 1," for number in range(20_000)) + "}",
        "".join(f"k{number}: 1\n" for number in range(20_000)),
        worst(many("intended_mbps", 30_000)),
        worst(many("platform.x", 30_000)),
        worst(*(many(f"platform.{letter}", 99) for letter in "abcdefgh")),
        "[" * (MAX_BYTES - 1),
        "- " * (MAX_BYTES // 2 - 1),
        "a: &a [x]\n" + "".join(f"b{n}: &b{n} [*a, *a]\n" for n in range(9000)),
        "a: " + "x" * (MAX_BYTES - 4),
    ],
    ids=["list", "mapping", "keys", "loads", "values", "grid", "nested", "dashes", "aliases", "scalar"],
)
def test_the_worst_files_take_seconds_and_little_memory(tmp_path: Path, text: str) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(text)
    begun = time.process_time()
    check_scenario(path)
    assert time.process_time() - begun < PATIENCE_S


def test_a_grid_too_large_is_refused_before_it_is_built(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(worst(*(many(f"platform.{letter}", 99) for letter in "abcde")))
    tracemalloc.start()
    with pytest.raises(InputError, match=r"the grid has 38039601996 cells; allowed: at most 100000"):
        load_scenario(str(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6


@pytest.fixture
def command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[list[str]], str]:
    """Runs `vtax run` with arguments up to where the machine would be touched; what it said on stderr."""

    def would_start(*_platforms: object) -> None:
        raise InputError("good to start")

    monkeypatch.setattr(vtax.campaign, "probe", would_start)
    monkeypatch.chdir(tmp_path)
    numbers = itertools.count()

    def run(arguments: list[str]) -> str:
        out = tmp_path / f"result{next(numbers)}"
        assert main(["run", "quick", *arguments, "--out", str(out)]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.strip()
        assert "Traceback" not in captured.err
        assert all(line.isprintable() for line in captured.err.split("\n"))
        assert list(tmp_path.iterdir()) == []
        return captured.err

    return run


PAIRS = st.one_of(
    st.text(max_size=20),
    st.tuples(
        KEYS | st.sampled_from(["workload.duration_s", "testbed.link_mbps", "frame_bytes", "platform.x"]),
        st.lists(st.sampled_from(TOKENS) | st.text(max_size=6) | st.integers().map(str), max_size=3).map(
            ",".join
        ),
    ).map("=".join),
)


@pytest.mark.slow
@pytest.mark.fuzz
@any_input
@given(PAIRS)
@example("mtu=68")
def test_any_set(command_line: Callable[[list[str]], str], pair: str) -> None:
    said = command_line([f"--set={pair}"])
    # What no longer fits the value that was set stands in the scenario's own file.
    assert said.startswith(("good to start", "--set ", f"{SCENARIOS / 'quick.yaml'}:"))


@pytest.mark.slow
@pytest.mark.fuzz
@any_input
@given(
    st.text(max_size=20) | st.lists(st.sampled_from([*TOKENS, "raw", "container"]), max_size=4).map(",".join)
)
def test_any_platforms(command_line: Callable[[list[str]], str], names: str) -> None:
    said = command_line([f"--platform={names}"])
    assert said.startswith(("good to start", "--platform "))

"""Cells as they are read: values by block, in whatever context and however often a block was tried."""

from pathlib import Path

import pytest

from tests.helpers.results.builder import make
from tests.helpers.results.forwarding import Made
from tests.helpers.results.requests import MadeResponses
from vtax.model.cell import Cell, Reading
from vtax.model.dimensions import LOAD, REQUEST
from vtax.model.levels import Levels
from vtax.model.metrics import LOSS, RESPONSE_TIME, THROUGHPUT
from vtax.model.reading import read_cells
from vtax.results import Result


class Frames(Levels, frozen=True):
    frame_bytes: int | None


FRAMES, ANSWERS = Reading(Frames, LOAD), Reading(Levels, REQUEST)


def only(result: Result, reading: Reading) -> Cell:
    (cell,) = read_cells(result, reading, [RESPONSE_TIME, LOSS, THROUGHPUT], ["raw"])
    return cell


def test_values_are_aligned_by_block(tmp_path: Path) -> None:
    result = make(tmp_path / "r", [MadeResponses(0, 90), MadeResponses(1, None), MadeResponses(2, 110)])
    cell = only(result, ANSWERS)
    assert cell.by_block("latency_mean_ns") == {0: 90_000, 2: 110_000}
    assert [*cell.by_block("loss_ratio")] == [0, 1, 2]
    sample = cell.sample(RESPONSE_TIME)
    assert sample is not None
    assert (sample.values, sample.recorded, sample.invalid) == ({0: 90_000, 2: 110_000}, 3, 0)


def test_invalid_trials_are_counted_and_enter_no_value(tmp_path: Path) -> None:
    trials = [
        MadeResponses(0, 90),
        MadeResponses(1, 5000, verdict="invalid"),
        MadeResponses(2, 100, verdict="suspect"),
    ]
    cell = only(make(tmp_path / "r", trials), ANSWERS)
    assert (cell.recorded, cell.invalid, cell.suspect) == (3, 1, 1)
    assert cell.left_out == pytest.approx(1 / 3)
    assert cell.by_block("latency_mean_ns") == {0: 90_000, 2: 100_000}


def test_a_cell_without_a_usable_trial_is_still_there(tmp_path: Path) -> None:
    cell = only(make(tmp_path / "r", [MadeResponses(0, 90, verdict="invalid")]), ANSWERS)
    assert not cell.is_usable
    assert cell.estimate(RESPONSE_TIME) is cell.deviation(RESPONSE_TIME) is None


def test_a_metric_that_no_trial_has_is_none(tmp_path: Path) -> None:
    (cell,) = read_cells(make(tmp_path / "r", [MadeResponses(0, 90)]), ANSWERS, [THROUGHPUT], [])
    assert cell.sample(THROUGHPUT) is None


def test_attempts_at_one_block_count_once(tmp_path: Path) -> None:
    trials = [Made("raw", 0, 100), Made("raw", 0, 200), Made("raw", 1, 400)]
    cell = only(make(tmp_path / "r", trials), FRAMES)
    assert cell.by_block("received_mbps") == {0: 150, 1: 400}


def test_contexts_are_cells_of_their_own(tmp_path: Path) -> None:
    trials = [
        Made("raw", block, 100 + block, uut_context=context)
        for block, context in enumerate(["own", "sender"])
    ]
    cells = read_cells(make(tmp_path / "r", trials), FRAMES, [THROUGHPUT], ["raw"])
    assert [(cell.uut_context, cell.by_block("received_mbps")) for cell in cells] == [
        ("own", {0: 100}),
        ("sender", {1: 101}),
    ]

"""The bench compares within rounds, and tells what a machine's pauses force."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from msgspec import structs

from bench import link, threads
from bench.__main__ import main
from bench.figure import Figure, Section
from bench.forwarding import told_of_ceiling
from bench.generation import told_of_checksums
from bench.pacing import Trial, figures_of, told_of_context
from bench.page import page
from bench.pauses import NOTICED_NS, Pauses
from bench.rounds import Rates, against
from bench.senders import TESTPMD_PACKET, TRAFGEN, vtax
from tests.helpers.trials import make_cell, make_measured
from vtax.agent_api import SentPhase, SentStream, SourceRunAnswer

OURS = vtax("gso")
UNDISTURBED = Pauses((), 300_000_000)
TRIAL = Trial(1e-6, 900, 1, 1.0, False, UNDISTURBED)


def rates(ours: list[float], theirs: list[float]) -> Rates:
    return Rates({OURS.name: dict(enumerate(ours)), TRAFGEN.name: dict(enumerate(theirs))})


def test_a_ratio_is_paired_within_rounds_and_its_whole_interval_must_hold() -> None:
    """The machine slows down threefold from round to round: the ratio does not."""
    found = rates([6e6, 4.1e6, 2e6], [3e6, 2e6, 1e6])
    figure = against("generation", found, OURS, (TRAFGEN,), 1.9)
    assert figure.ratio == pytest.approx(2.016, abs=0.01)
    assert figure.holds
    assert "4.100 Mpps (2.000 to 6.000, n = 3)" in figure.ours
    assert against("generation", found, OURS, (TRAFGEN,), 2.01).holds is False
    assert against("generation", found, OURS, (TRAFGEN,)).holds is None


def test_the_fastest_of_the_peers_is_compared_and_a_silent_one_quoted() -> None:
    found = rates([6e6, 6e6], [3e6, 3e6])
    found.words[TESTPMD_PACKET.name] = ["EAL: Cannot init"]
    figure = against("generation", found, OURS, (TESTPMD_PACKET, TRAFGEN), 1.5)
    assert figure.peers.startswith("trafgen: 3.000 Mpps")
    assert figure.note == "testpmd net_af_packet sent nothing in 1 of 7 rounds: `EAL: Cannot init`"


def test_a_miss_is_laid_to_checksums_only_where_it_ends_without_them() -> None:
    missed = against("1500 B", rates([2.5e6] * 3, [2e6] * 3), OURS, (TRAFGEN,), 1.3)
    reached = against("1500 B", rates([2.8e6] * 3, [2e6] * 3), OURS, (TRAFGEN,), 1.3)
    assert told_of_checksums(missed, missed).note is None
    assert told_of_checksums(reached, reached) == reached
    note = told_of_checksums(missed, reached).note
    assert note is not None and "2.800 Mpps" in note


def test_a_miss_is_laid_to_the_router_only_where_its_ceiling_leaves_no_room() -> None:
    assert told_of_ceiling(400.0, "trafgen", 1.9e6) is None  # 2.5 Mpps are more than 1.25 times as much
    note = told_of_ceiling(500.0, "trafgen", 1.8e6)
    assert note is not None and "2.00 Mpps" in note and "90%" in note


@pytest.mark.parametrize(
    ("gap_ns", "each"),
    [
        (100_000, 2 * 0.2),  # of the pauses of 25 us, a fifth spoils two gaps each
        (
            10_000,
            2.5 + 1 - 0.5,
        ),  # two or three frames leave together, and the next gap is short more often than not
        (1_000, 1.0),  # frames that leave together are early by less than is noticed
    ],
)
def test_pauses_spoil_gaps_by_their_length(gap_ns: int, each: float) -> None:
    seen = Pauses((25_000,) * 40, 1_000_000_000)
    assert seen.share_of_gaps(gap_ns) == pytest.approx(40 * each * gap_ns / 1_000_000_000)
    assert UNDISTURBED.share_of_gaps(gap_ns) == 0


@pytest.mark.parametrize("gap_ns", [7_040, 12_192, 40_100, 187_000])
def test_a_source_that_is_stopped_misses_so_many_gaps(gap_ns: int) -> None:
    """A frame leaves when it is due, or when the pause ends in which it was."""
    random = np.random.default_rng(gap_ns)
    begins = [number * 10**6 + int(at) for number, at in enumerate(random.integers(900_000, size=4000))]
    lengths = tuple(map(int, random.choice((8_000, 30_000, 75_000), size=4000)))
    departures = []
    for due in range(0, 4000 * 10**6, gap_ns):
        begin, length = begins[due // 10**6], lengths[due // 10**6]
        departures.append(begin + length if begin <= due < begin + length else due)
    missed = sum(abs(b - a - gap_ns) > NOTICED_NS for a, b in pairwise(departures))
    expected = Pauses(lengths, 4000 * 10**6).share_of_gaps(gap_ns)
    assert missed / len(departures) == pytest.approx(expected, rel=0.06)


def test_late_departures_are_explained_only_by_pauses_that_suffice() -> None:
    late = replace(TRIAL, gap_error_p99_ns=30_000)
    mean, gap = figures_of(1500, 10, "raw", [late] * 3)
    assert mean.holds
    assert (gap.holds, gap.note) == (False, None)
    stopped = replace(late, before=Pauses((45_000,) * 300, 1_000_000_000))
    _, gap = figures_of(1500, 10, "raw", [stopped] * 3)
    assert gap.holds is False
    assert gap.note is not None
    assert "300 pauses a second" in gap.note


def test_a_missed_gap_is_laid_to_the_far_end_only_where_it_holds_in_the_senders_context() -> None:
    late = [replace(TRIAL, gap_error_p99_ns=11_000)] * 3
    missed, held = figures_of(64, 1000, "gso", late), figures_of(64, 1000, "gso", [TRIAL] * 3)
    assert told_of_context(missed, missed) == missed
    assert told_of_context(held, held) == held
    mean, gap = told_of_context(missed, held)
    assert mean == missed[0]
    assert gap.holds is False
    assert gap.note is not None and "it is 0.90 us" in gap.note


def test_trials_with_stolen_time_are_left_out_and_bursts_reported() -> None:
    stolen = replace(TRIAL, mean_error=0.5, stolen=True)
    mean, _, burst = figures_of(64, 1000, "gso", [replace(TRIAL, longest_burst=4), TRIAL, stolen])
    assert mean.holds
    assert "n = 2" in mean.ours
    assert burst.holds
    assert burst.ours.startswith("longest 4")
    assert figures_of(64, 1000, "gso", [replace(TRIAL, longest_burst=5)] * 2)[2].holds is False


def flood(frames_sent: int, *, came: int, highest_bytes: int = 60_000, twice: int = 0) -> link.Trial:
    """A second of 64-byte frames, of which so many came."""
    phase = SentPhase(
        phase="measure",
        start_ns=0,
        end_ns=1_000_000_000,
        frames_sent=frames_sent,
        strand_frames=[frames_sent],
        probes_sent=200,
        probes_refused=0,
        sends=frames_sent // 16,
        longest_burst=17,
        send_errors=None,
        blocked=0,
        waits=0,
        waited_ns=0,
        unsent=0,
        first_ns=0,
        last_ns=1_000_000_000,
    )
    answer = SourceRunAnswer(
        start_ns=0,
        end_ns=1_000_000_000,
        cpu_latency_held=True,
        aborted=False,
        mechanism="af_xdp",
        threads=[],
        streams=[SentStream(stream=0, cpus=[0], phases=[phase])],
    )
    return link.Trial(answer, link.Crossing(came, 200, twice, 0, 8000 * highest_bytes))


def test_a_link_that_is_not_full_is_laid_to_a_source_that_sends_no_more_without_it() -> None:
    full = link.figures_of("64 B", 64, 3e6, [flood(1_410_000, came=1_410_000)] * 3)
    assert [figure.holds for figure in full] == [True] * 6
    for ceiling_fps, is_explained in [(1.3e6, True), (1.4e6, False)]:
        rate, *_ = link.figures_of("64 B", 64, ceiling_fps, [flood(1_200_000, came=1_200_000)] * 3)
        assert rate.holds is False
        assert (rate.note is not None) == is_explained
    assert rate.ratio == pytest.approx(0.845, abs=0.001)


@pytest.mark.parametrize(
    ("wrong", "row"),
    [
        (flood(1_410_000, came=1_410_000, highest_bytes=65_600), "beyond the rate"),
        (flood(1_410_000, came=1_409_999), "not counted"),
        (flood(1_410_000, came=1_410_001), "not counted"),
        (flood(1_410_000, came=1_410_000, twice=1), "twice"),
    ],
)
def test_one_frame_that_is_not_as_it_should_be_is_a_miss(wrong: link.Trial, row: str) -> None:
    right = flood(1_410_000, came=1_410_000)
    missed = [figure for figure in link.figures_of("64 B", 64, 3e6, [right, wrong]) if figure.holds is False]
    assert [row in figure.name for figure in missed] == [True]
    assert missed[0].note is None


@pytest.mark.parametrize(
    ("busy", "waited", "passed_fps", "holds"),
    [(0.5, 0.0, 1.41e6, True), (0.99, 0.0, 1e6, True), (0.5, 0.2, 1e6, True), (0.9, 0.05, 1e6, False)],
)
def test_a_router_shows_its_limit_by_its_thread_or_by_the_source_that_waits(
    busy: float, waited: float, passed_fps: float, holds: bool
) -> None:
    figure = link.figure_of_router("64 B", 64, [link.Passed(passed_fps, busy, waited)] * 3)
    assert figure.holds is holds


def test_the_page_tells_held_shown_explained_and_missed_apart() -> None:
    held = Figure("a", "1", "2", "at least 2 x", 2.5, 2.4, 2.6, True)
    figures = (
        held,
        replace(held, holds=None, required=""),
        replace(held, holds=False, note="The machine."),
        replace(held, holds=False),
    )
    text = page("facts\n", [Section("Part", "Prose.", figures)])
    for words in ("| holds |", "| shown |", "| missed, see below |", "| **missed** |", "*a*: The machine."):
        assert words in text
    assert "2.5 [2.4, 2.6]" in text


def test_an_unknown_part_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generation", "weather"]) == 2
    assert "no such part: weather" in capsys.readouterr().err


def test_threads_have_to_send_more_together_and_each_frame_once() -> None:
    (counted,) = make_measured(make_cell()).sink.hosts["sink"].streams

    def found(several_fps: float, **odd: int) -> list[bool | None]:
        uncounted = odd.pop("uncounted", 0)
        noisy = [1.0, 1.02, 0.98]
        rounds = [
            threads.Round(1e6 * noise, several_fps * noise, uncounted, structs.replace(counted, **odd))
            for noise in noisy
        ]
        return [figure.holds for figure in threads.figures_of(64, rounds)]

    assert found(2e6) == [True] * 4
    assert found(1.4e6) == [False, True, True, True]
    assert found(2e6, uncounted=1) == [True, False, True, True]
    assert found(2e6, duplicated=1) == [True, True, False, True]
    assert found(2e6, reordered=1) == [True, True, True, False]

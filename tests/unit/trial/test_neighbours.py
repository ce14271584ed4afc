"""What neighbours are asked to do, and what it says for or against a trial."""

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.paths import ROOT
from tests.helpers.scenarios import refusal_of, write_scenario
from tests.helpers.trials import SECOND_NS, change_times, judge, make_cell, make_measured, otherwise
from vtax.agent_api import GuestStateAnswer
from vtax.keys.testbed import TestbedSettings
from vtax.platforms import container, raw
from vtax.scenario import load_scenario
from vtax.testbed.addressing import StreamAddresses, neighbour_streams
from vtax.testbed.guest import GuestSpec
from vtax.testbed.guest_state import GuestState
from vtax.trial.beside import Beside
from vtax.trial.neighbours.findings import missed
from vtax.trial.neighbours.stress import LOADS, MEMORY_BYTES
from vtax.trial.verdict import Verdict

SCENARIO = """
name: own/neighbours
title: Neighbours
question: What do they do?
workload: {kind: forwarding}
testbed: {neighbours: idle}
factors: {platform: [raw]}
repetitions: 1
"""
STANDS = GuestState.told(GuestStateAnswer(interfaces=[], clock_offset_ns=0, oom_kills=0), "")


def test_no_neighbours_do_nothing() -> None:
    assert TestbedSettings().behaviour == "none"
    assert TestbedSettings(neighbours="bulk", neighbour_guests=0).behaviour == "none"
    assert TestbedSettings(neighbours="bulk").has_neighbours


def test_each_behaviour_is_a_factor_with_a_path_of_its_own(tmp_path: Path) -> None:
    words = "{platform: [raw], neighbours: [none, idle], cap_mbps: [none, 50]}"
    cells = load_scenario(write_scenario(SCENARIO, tmp_path, "{platform: [raw]}", words)).cells()
    assert [cell.testbed.behaviour for cell in cells] == ["none", "none", "idle", "idle"]
    assert [cell.testbed.cap_mbps for cell in cells] == [None, 50, None, 50]
    assert len({cell.plot for cell in cells}) == 4


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ("neighbours: idle, uplink: shared, guests: 2", "neighbours of guests behind a shared uplink"),
        (
            "cap_mbps: 10, uplink: shared, guests: 2",
            "guests behind a shared uplink have no port of their own",
        ),
        ("neighbours: busy", "busy"),
        ("neighbour_guests: 8", "0 to 7"),
        ("load_share: 0", "more than 0"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, keys: str, words: str) -> None:
    assert words in refusal_of(write_scenario(SCENARIO, tmp_path, "neighbours: idle", keys))


def test_neighbours_have_addresses_of_no_guest() -> None:
    guests = {StreamAddresses(number).uut_in_mac for number in range(8)}
    assert not guests & {stream.uut_in_mac for stream in neighbour_streams(7)}


def test_a_heavy_neighbour_has_the_memory_it_fills() -> None:
    heavy = LOADS["heavy"]
    assert heavy.memory_workers * MEMORY_BYTES < heavy.guest_bytes
    guest = GuestSpec("neighbour0", "uut", {}, least_memory_bytes=heavy.guest_bytes)
    few, many = container.Config(memory_bytes=1 << 28), container.Config(memory_bytes=1 << 34)
    assert guest.config(few) == container.Config(memory_bytes=heavy.guest_bytes)
    assert guest.config(many) == many
    assert guest.config(container.Config()) == container.Config()
    assert guest.config(raw.Config()) == raw.Config()


@pytest.mark.parametrize(("offered", "suspect"), [(98.1, False), (97.9, True), (101.9, False), (102.1, True)])
def test_a_neighbour_that_misses_its_load_makes_a_trial_suspect(offered: float, suspect: bool) -> None:
    found = missed(1, offered, 100.0)
    assert [verdict for verdict, _ in found] == [Verdict.SUSPECT] * suspect
    measured = make_measured(make_cell())
    measured.beside = Beside(findings=found)
    assert judge(measured).verdict is (Verdict.SUSPECT if suspect else Verdict.VALID)


@pytest.mark.parametrize(
    ("after", "words"),
    [
        ({"condition": "ended"}, "neighbour0 died: the trial does not show the guest's performance"),
        ({"condition": "silent"}, "neighbour0 hung: the trial does not show the guest's performance"),
        (
            {"condition": "misreports", "reason": "answered guest.state with []"},
            "the agent inside neighbour0 answered guest.state with []: the trial does not show the guest's performance",
        ),
        ({"oom_kills": 1}, "neighbour0 ran out of memory and killed its own load"),
    ],
)
def test_a_neighbour_that_fell_out_makes_a_trial_invalid(after: dict[str, Any], words: str) -> None:
    measured = make_measured(make_cell())
    measured.guests["neighbour0"] = (STANDS, otherwise(STANDS, **after))
    judgement = judge(measured)
    assert (judgement.verdict, judgement.reasons) == (Verdict.INVALID, (words,))


def test_the_time_that_neighbours_frames_take_is_not_held_against_the_source() -> None:
    measured = make_measured(make_cell(intended_mbps=None), offered_fps=450_000)
    change_times(measured, run_delay_ns=SECOND_NS * 3 // 10)
    assert judge(measured).verdict is Verdict.INVALID
    measured.beside = Beside(source_share=0.3)
    measured.cell = replace(measured.cell, testbed=TestbedSettings(flow_control=True))
    judgement = judge(measured)
    assert judgement.verdict is Verdict.VALID
    # It used what was left of its CPU; where nobody else had the rest, it could have done more.
    change_times(measured, run_ns=SECOND_NS * 7 // 10)
    assert judge(measured).marks == ("generator-limited",)
    measured.beside = Beside()
    change_times(measured, run_delay_ns=0)
    assert judge(measured).marks == ("limit-unknown",)


def test_the_published_tables_are_those_of_the_paper() -> None:
    data = ROOT / "vtax/data/scenarios/schlosser2011"
    with (data / "neighbour-stress.csv").open() as text:
        stress = {
            (row["setup"], row["frame_bytes"], row["neighbour"]): row["change_percent"]
            for row in csv.DictReader(text)
        }
    assert len(stress) == 6 * 4 * 2
    assert stress["OpenVZ", "64", "heavy"] == "-18.2"
    with (data / "neighbour-traffic.csv").open() as text:
        traffic = {
            (row["setup"], row["frame_bytes"], row["load_percent"]): row["received_mbps"]
            for row in csv.DictReader(text)
        }
    assert len(traffic) == 7 * 4 * 2
    assert traffic["Xen", "64", "95"] == "47.2"

"""Hypervisors that run for real, on machines that vtax emulates: frames cross their guests, CPU time is told by domain.

The emulation takes all of one CPU, and the source all of another: verdicts hold on a machine that has both for itself.
"""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.campaigns import vtax
from tests.helpers.footprint import footprint, settles
from tests.helpers.paths import ROOT
from vtax.model.platform import RAW
from vtax.results import Result

pytestmark = [pytest.mark.system, pytest.mark.hosts, pytest.mark.timeout(900)]

TESTBEDS = ROOT / "vtax/data/testbeds"
KEEP = "VTAX_KEEP_HOSTS"
"""A directory where results are wanted; there they are whatever becomes of the tests."""
ENOUGH_FRAMES = 1000


@dataclass(frozen=True)
class Campaign:
    """A scenario on an emulated host, reduced to what emulation can bear."""

    host: str
    scenario: str
    guests: tuple[str, ...]
    """Platforms; the first is measured, of further ones it is asked that they carry frames."""
    changes: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.host}-{self.scenario.rpartition('/')[2]}"


DEDICATED = "schlosser2011/dedicated", ("streams=1", "frame_bytes=500", "intended_mbps=4")
SENDING = "anhalt2009/sending", ("guests=1", "transport=udp")
WEIGHTS = "host_weight=1,32"
WEIGHED_BY = {"emulated-xen": "credit2", "emulated-kvm": "cpu.weight"}
CAMPAIGNS = [
    Campaign("emulated-xen", DEDICATED[0], ("xen-pv", "xen-pvh"), DEDICATED[1]),
    Campaign("emulated-xen", SENDING[0], ("xen-pv",), (*SENDING[1], WEIGHTS)),
    Campaign("emulated-kvm", DEDICATED[0], ("kvm-vhost", "kvm-virtio", "kvm-e1000"), DEDICATED[1]),
    Campaign("emulated-kvm", SENDING[0], ("kvm-vhost",), SENDING[1]),
]


@dataclass(frozen=True)
class Run:
    """A campaign that has ended."""

    campaign: Campaign
    result: Result
    said: str

    def rows(self, query: str) -> list[dict[str, Any]]:
        """What a query finds."""
        return self.result.query(query).to_pylist()


@pytest.fixture(scope="module", params=CAMPAIGNS, ids=str)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Each campaign, on the host itself and through guests of its hypervisor; each trial may be disturbed once."""
    campaign: Campaign = request.param
    kept = os.environ.get(KEEP)
    before, out = footprint(), Path(kept or tmp_path_factory.mktemp("hosts")) / str(campaign)
    if kept:
        shutil.rmtree(out, ignore_errors=True)
    changes = [word for change in campaign.changes for word in ("--set", change)]
    done = vtax(
        *("run", campaign.scenario, "--testbed", TESTBEDS / f"{campaign.host}.yaml"),
        *("--platform", ",".join((RAW, *campaign.guests))),
        *(*changes, "--duration", "3", "--repetitions", "2", "--out", out),
        timeout=840,
    )
    assert done.returncode in {0, 3}, done.stderr
    yield Run(campaign, Result.open(out), done.stdout + done.stderr)
    assert settles(before)


def test_every_measured_cell_has_a_valid_trial(run: Run) -> None:
    cells = run.rows("SELECT platform, cell, bool_or(verdict = 'valid') AS valid FROM trials GROUP BY ALL")
    weights = 2 if WEIGHTS in run.campaign.changes else 1
    assert len(cells) == weights * len((RAW, *run.campaign.guests)), run.said
    assert all(cell["valid"] for cell in cells if cell["platform"] in (RAW, run.campaign.guests[0])), run.said


def test_frames_cross_the_guests(run: Run) -> None:
    carried = run.rows(
        "SELECT platform, max(coalesce(frames_received, messages_received)) AS frames "
        "FROM trials JOIN flows USING (trial_id) WHERE verdict <> 'invalid' GROUP BY platform"
    )
    assert all(flow["frames"] > ENOUGH_FRAMES for flow in carried), run.said
    assert {flow["platform"] for flow in carried} == {RAW, *run.campaign.guests}


def test_what_arrives_is_lost_nowhere(run: Run) -> None:
    lost = "SELECT sum(dropped) AS frames FROM hops JOIN flows USING (trial_id, stream) WHERE loss_ratio = 0"
    assert run.rows(lost) in ([{"frames": 0}], [{"frames": None}]), run.said


def test_each_domain_has_its_cpu_time(run: Run) -> None:
    """The guest's is a part of the host's, which has no more than there is."""
    trials = run.rows(
        "SELECT trial_id, max(percent) FILTER (domain = 'guest' AND component = 'vcpu 0') AS guest, "
        "max(percent) FILTER (domain = 'host' AND component = 'total') AS host "
        "FROM trials JOIN cpu USING (trial_id) "
        "WHERE platform <> 'raw' AND samples IS NULL AND verdict <> 'invalid' GROUP BY trial_id"
    )
    assert trials
    assert all(0 < trial["guest"] < trial["host"] < 105 for trial in trials), trials


def test_the_host_has_its_weight(run: Run) -> None:
    """A guest of Xen is started only after Xen has told the weight that was asked for."""
    weight = [1, 32] if WEIGHTS in run.campaign.changes else 1
    for guest in run.campaign.guests:
        facts = run.result.campaign["platforms"][guest]["facts"]
        assert (facts["host_weight"], facts["weighed_by"]) == (weight, WEIGHED_BY[run.campaign.host])


def test_all_of_it_is_said_to_be_emulated(run: Run) -> None:
    rows = run.rows("SELECT DISTINCT accelerator, emulated FROM trials")
    assert [(row["accelerator"], row["emulated"]) for row in rows] == [("emulated", True)]
    assert "never a hypervisor's cost" in run.said

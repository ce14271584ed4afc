"""Carries out a campaign on several testbeds."""

import contextlib
import random
from collections.abc import Collection
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Thread

from distributed import Client

from vtax.campaign import Outcome, Progress, Resumed
from vtax.campaign.blocks import chosen_blocks
from vtax.campaign.needs import require_grants
from vtax.cluster.clusters import Connect, opened
from vtax.cluster.collect import begin, check_going_on, go_on, order_of, take
from vtax.cluster.engine import AWAY, Engine
from vtax.cluster.testbeds import read_testbeds
from vtax.cluster.work import Order, forget, measure
from vtax.inputs.needs import Consent, NeedKind, by_name
from vtax.results import MergedWriter, Result
from vtax.results.stored import mapping
from vtax.scenario import Scenario
from vtax.testbed.host_session import as_interrupts

_CELLS = """
SELECT coalesce(search, cell) AS cell, bool_or(verdict <> 'invalid') AS usable, any_value(reasons[1]) AS reason
FROM trials GROUP BY ALL ORDER BY usable
"""
FAREWELL_S = 30.0
"""How long testbeds have for removing what they kept."""


def run(
    scenario: Scenario,
    testbeds: Path,
    *,
    out: Path | None = None,
    seed: int | None = None,
    resume: Resumed | None = None,
    allow: Collection[NeedKind] = (),
    consent: Consent = by_name,
    progress: Progress,
) -> Outcome:
    """Carry out `scenario` on the testbeds that the file `testbeds` names; `out`, `seed`, `resume`, `allow` and
    `consent` as of a campaign.

    Raises InputError for bad input, before anything starts, and ClusterError where the testbeds come to no end with it:
    what has arrived is kept then, and `resume` goes on.
    """
    file = read_testbeds(testbeds)
    typed = scenario
    if resume is not None:
        check_going_on(resume.result.campaign, resume.directory)
        scenario = resume.scenario
        if resume.is_done:
            progress.note(resume.ending)
            return Outcome(resume.directory, _unusable(scenario, resume.result), made=False)
    chosen_blocks(scenario, range(scenario.repetitions))
    require_grants(typed, file.needs, resume, allow, consent)
    name = f"{scenario.name.replace('/', '-')}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    directory = out or Path("results") / name if resume is None else resume.directory
    with as_interrupts(), opened(file, testbeds.parent) as connect:
        client = connect()
        if resume is not None:
            writer = go_on(directory)
        else:
            chosen = seed if seed is not None else random.SystemRandom().randrange(2**31)
            writer = begin(directory, scenario, chosen)
        with contextlib.closing(writer):
            order = order_of(writer, scenario, file)
            _carry_out(scenario, writer, client, connect, order, progress)
    return Outcome(directory, _unusable(scenario, Result.open(directory)))


def _carry_out(
    scenario: Scenario,
    writer: MergedWriter,
    client: Client,
    connect: Connect,
    order: Order,
    progress: Progress,
) -> None:
    left = [block for block in range(scenario.repetitions) if block not in writer.blocks]
    planned = scenario.trials and scenario.trials // scenario.repetitions * len(left)
    progress.campaign(scenario.name, planned, writer.directory)
    for repaired in writer.repaired:
        progress.note(repaired)

    def collect(block: int, testbed: str, content: bytes) -> None:
        for trial in take(writer, block, testbed, content).to_pylist():
            progress.trial_started(trial["trial_id"], trial["cell"])
            progress.trial_finished(trial["trial_id"], trial["verdict"], f"block {block}")

    status = "interrupted"
    try:
        engine = Engine(client, connect, partial(measure, order), collect, progress.note)
        try:
            engine.run(left)
            status = "complete"
            _bid_farewell(engine.client, order["id"])
        finally:
            engine.client.close(timeout=FAREWELL_S)
    finally:
        progress.finished()
        with contextlib.suppress(OSError):  # a full disk has been told of already
            writer.update(status=status, finished_at=datetime.now(UTC).isoformat())


def _bid_farewell(client: Client, campaign_id: str) -> None:
    """Have the testbeds remove what they kept; one that does not answer removes it later, by its age."""

    def farewell() -> None:
        with contextlib.suppress(*AWAY):
            client.run(forget, campaign_id, on_error="ignore")

    asked = Thread(target=farewell, daemon=True)
    asked.start()
    asked.join(FAREWELL_S)


def _unusable(scenario: Scenario, result: Result) -> list[tuple[str, str]]:
    """The cells that no testbed has a usable trial of, with the reason."""
    found = {row["cell"].rpartition(" ")[0]: row for row in result.query(_CELLS).to_pylist()}
    platforms = result.stored.get("platforms") or {}
    unusable = []
    for cell in scenario.cells():
        told = found.get(cell.key, {})
        skipped = mapping(platforms.get(cell.platform, {}).get("skipped"))
        if not told.get("usable"):
            unusable.append((cell.key, str(told.get("reason") or skipped.get("reason") or "not measured")))
    return unusable

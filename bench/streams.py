"""Bulk TCP of vtax's endpoints beside iperf3, out of the bare host to a peer behind a switch."""

import json
from datetime import UTC, datetime
from pathlib import Path

from bench.figure import Figure, Section, sample_text
from validation.agreement import process
from validation.agreement.process import ToolFailed, started
from vtax.keys.cell import Cell
from vtax.machine.ownership import OwnershipRecord
from vtax.platforms import presets
from vtax.scenario import load_scenario
from vtax.statistics import paired_ratio
from vtax.testbed.host_session import hold_host
from vtax.testbed.layout import cpu_layout
from vtax.testbed.machines import OneMachine
from vtax.testbed.shared import shared
from vtax.testbed.testbed import Testbed
from vtax.trial.endpoints.path import EndpointPath
from vtax.trial.observed import Observed
from vtax.trial.settings import settings_of
from vtax.workloads.bulk.measure.trial import BulkTrial

ROUNDS = 6
SECONDS = 2
WARMUP_S = 1
"""iperf3 leaves out whole seconds."""
LEAST_RATIO, GREATEST_RATIO = 0.97, 1.03
LINKS = {"1000 Mbit/s": "1000", "a link without a limit": "unlimited"}
IPERF3_PORT = 5201
TEXT = f"""
One connection out of the bare host (`raw`) over the shared link of the built-in testbed to a peer behind the switch,
sender and receiver on a CPU each; what the kernels choose by default, pieces of 64 KiB with either tool (iperf3
`-l 64K`). {ROUNDS} rounds of {SECONDS} s by turns, a second of warm-up before each. Compared is the goodput that the
receivers tell.
"""


def run(directory: Path) -> Section:
    """Both links."""
    with hold_host("bench streams") as record:
        figures = [
            _figure(f"TCP over {name}", *_rounds(link_mbps, record, directory))
            for name, link_mbps in LINKS.items()
        ]
    return Section("Streams", TEXT, tuple(figures))


def _figure(name: str, ours: dict[int, float], theirs: dict[int, float]) -> Figure:
    ratio = paired_ratio(ours, theirs)
    if ratio is None or ratio.low is None or ratio.high is None:
        raise ArithmeticError(f"{name}: a round without any goodput has no ratio")
    holds = ratio.low >= LEAST_RATIO and ratio.high <= GREATEST_RATIO
    return Figure(
        name,
        sample_text(ours.values(), "Mbit/s", 1),
        f"iperf3: {sample_text(theirs.values(), 'Mbit/s', 1)}",
        f"{LEAST_RATIO:g} to {GREATEST_RATIO:g} x",
        *(ratio.mean, ratio.low, ratio.high, holds),
    )


def _rounds(
    link_mbps: str, record: OwnershipRecord, directory: Path
) -> tuple[dict[int, float], dict[int, float]]:
    """Goodput in Mbit/s by round, vtax's and iperf3's; each is first in every other round."""
    fixes = ["guests=1", "transport=tcp", f"link_mbps={link_mbps}", "workload.cpu_samples_hz=0"]
    fixes.append(f"workload.warmup_s={WARMUP_S}")
    (cell,) = load_scenario("anhalt2009/sending").override(["raw"], fixes, 1, SECONDS).cells()
    preset = presets()[cell.platform]
    network = shared(settings_of(cell, cpu_layout()), preset.platform().port, 1, forwards=False)
    path = EndpointPath(preset, preset.resolve({}), Testbed(network, OneMachine(record)), [], 0)
    ours: dict[int, float] = {}
    theirs: dict[int, float] = {}
    try:
        path.open()
        for number in range(ROUNDS):
            if number % 2:
                theirs[number] = _iperf3(path, record, directory)
            ours[number] = _vtax(path, cell, number + 1)
            if not number % 2:
                theirs[number] = _iperf3(path, record, directory)
    finally:
        path.close()
    return ours, theirs


def _vtax(path: EndpointPath, cell: Cell, trial: int) -> float:
    made = BulkTrial(Observed(trial, cell, datetime.now(UTC)))
    made.measure(path, path.guest_states())
    if made.observed.failure is not None:
        raise ToolFailed(f"vtax: {made.observed.failure}")
    (flows,) = made.flows
    return flows.came.flows[0].goodput_mbps


def _iperf3(path: EndpointPath, record: OwnershipRecord, directory: Path) -> float:
    ((guest, peer),) = path.ends
    log, port = directory / "iperf3.log", str(IPERF3_PORT)
    server = ["iperf3", "-s", "-1", "--forceflush", "-B", peer.address, "-p", port]
    client = [
        "iperf3",
        "-c",
        peer.address,
        "-p",
        port,
        "-l",
        "64K",
        "-J",
        "-t",
        str(SECONDS),
        "-O",
        str(WARMUP_S),
    ]
    with started(peer.host, record, peer.cpu, "Server listening", log, *server):
        told = process.run(guest.host, guest.cpu, *client)
    return float(json.loads(told)["end"]["sum_received"]["bits_per_second"]) / 1e6

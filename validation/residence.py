"""How long a guest's own kernel holds frames, by its own time stamps, beside the delay that vtax measures of them."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from validation.agreement.trials import NoTrial, Trials, cell
from vtax.machine.ownership import OwnershipRecord
from vtax.platforms import presets
from vtax.testbed.guest import GUEST
from vtax.testbed.host_session import hold_host
from vtax.testbed.layout import cpu_layout
from vtax.testbed.machines import OneMachine
from vtax.trial.failures import BUILD_FAILURES
from vtax.trial.settings import settings_of
from vtax.workloads.forwarding.measure.path import ForwardingPath, forwarding_testbed

REPEATS = 5


@dataclass(frozen=True)
class Load:
    """What crosses the guest: the smallest frames, evenly spaced."""

    frame_bytes: int
    fps: float
    duration_s: float


@dataclass(frozen=True)
class Held:
    """Medians of one trial's frames: how long the guest's kernel says it had them, and their one-way delay."""

    residence_ns: float
    delay_ns: float


class NotStamped(Exception):  # noqa: N818 - it states what the guest did
    """The guest's kernel could not be asked: why."""


def stamped(platform: str, qdiscs: Sequence[str], load: Load) -> dict[str, dict[int, Held]]:
    """What is held behind each discipline, by repetition; raises NotStamped.

    Each trial has a guest of its own, as those of a campaign's blocks have: guests differ from boot to boot.
    """
    affinity, cpus = os.sched_getaffinity(0), cpu_layout()
    with hold_host("validation residence") as record:
        try:
            os.sched_setaffinity(0, cpus["controller"])
            found: dict[str, dict[int, Held]] = {qdisc: {} for qdisc in qdiscs}
            for repetition, qdisc in product(range(REPEATS), qdiscs):
                found[qdisc][repetition] = _behind(platform, qdisc, load, cpus, record)
            return found
        except (*BUILD_FAILURES, NoTrial) as failure:
            raise NotStamped(f"{platform}: {failure}") from None
        finally:
            os.sched_setaffinity(0, affinity)


def _behind(
    platform: str, qdisc: str, load: Load, cpus: dict[str, list[int]], record: OwnershipRecord
) -> Held:
    preset, trials = presets()[platform], Trials()
    config = preset.resolve({"egress_qdisc": qdisc})
    emulated = preset.platform().prepare(config).emulated
    asked = cell(platform, load.frame_bytes, load.fps, load.duration_s)
    settings = settings_of(asked, cpus)
    port_kind = settings.port_kind(preset.platform().port)
    path = ForwardingPath(
        preset, config, forwarding_testbed(settings, port_kind, 1, OneMachine(record, cpus))
    )
    try:
        path.open()
        path.testbed.uut.api(GUEST).residence_open()
        _, flow = trials.whole(path, asked, emulated=emulated)
        residence = path.testbed.uut.api(GUEST).residence_read()
    finally:
        path.close()
    if residence.frames < flow.received or residence.p50_ns is None:
        raise NotStamped(f"{platform}: the guest stamped {residence.frames} of {flow.received} frames")
    return Held(residence.p50_ns, flow.delay_p50_ns)

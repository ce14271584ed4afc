"""How long a guest's own kernel holds frames, by its own time stamps of frames that cross it as a campaign's do."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from validation.agreement.trials import NoTrial, Trials, cell
from vtax.campaign.hold import hold_host
from vtax.campaign.path import Path
from vtax.campaign.runner import BUILD_FAILURES, local_settings
from vtax.machine.ownership import OwnershipRecord
from vtax.platforms import presets
from vtax.testbed.layout import cpu_layout
from vtax.testbed.local import GUEST

REPEATS = 5


@dataclass(frozen=True)
class Load:
    """What crosses the guest: the smallest frames, evenly spaced."""

    frame_bytes: int
    fps: float
    duration_s: float


class NotStamped(Exception):  # noqa: N818 - it states what the guest did
    """The guest's kernel could not be asked: why."""


def medians_ns(platform: str, qdiscs: Sequence[str], load: Load) -> dict[str, dict[int, float]]:
    """Median residence behind each discipline, by repetition, each in a guest of its own; raises NotStamped."""
    affinity, cpus = os.sched_getaffinity(0), cpu_layout()
    with hold_host("validation residence") as record:
        try:
            os.sched_setaffinity(0, cpus["controller"])
            return {qdisc: _behind(platform, qdisc, load, cpus, record) for qdisc in qdiscs}
        except (*BUILD_FAILURES, NoTrial) as failure:
            raise NotStamped(f"{platform}: {failure}") from None
        finally:
            os.sched_setaffinity(0, affinity)


def _behind(
    platform: str, qdisc: str, load: Load, cpus: dict[str, list[int]], record: OwnershipRecord
) -> dict[int, float]:
    preset, trials = presets()[platform], Trials()
    config = preset.resolve({"egress_qdisc": qdisc})
    emulated = preset.platform().prepare(config).emulated
    asked = cell(platform, load.frame_bytes, load.fps, load.duration_s)
    path = Path(preset, config, local_settings(asked, cpus), 1, record)
    found: dict[int, float] = {}
    try:
        path.open()
        for repetition in range(REPEATS):
            path.testbed.uut.call(GUEST, "residence.open", {})
            _, flow = trials.whole(path, asked, emulated=emulated)
            stamped = path.testbed.uut.call(GUEST, "residence.read", {})
            if stamped["frames"] < flow.received:
                raise NotStamped(
                    f"{platform}: the guest stamped {stamped['frames']} of {flow.received} frames"
                )
            found[repetition] = float(stamped["p50_ns"])
    finally:
        path.close()
    return found

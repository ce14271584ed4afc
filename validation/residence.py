"""How long a guest's own kernel holds frames, by its own time stamps, beside the delay that vtax measures of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from validation.agreement.trials import flow
from validation.trials import Machine, NoTrial, Trials, cell, machine_held, path_of
from vtax.platforms import presets
from vtax.testbed.guest import GUEST
from vtax.trial.failures import BUILD_FAILURES
from vtax.units import mbps

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
    try:
        with machine_held("validation residence") as machine:
            found: dict[str, dict[int, Held]] = {qdisc: {} for qdisc in qdiscs}
            for repetition, qdisc in product(range(REPEATS), qdiscs):
                found[qdisc][repetition] = _behind(platform, qdisc, load, machine)
            return found
    except (*BUILD_FAILURES, NoTrial) as failure:
        raise NotStamped(f"{platform}: {failure}") from None


def _behind(platform: str, qdisc: str, load: Load, machine: Machine) -> Held:
    asked = cell(platform, load.frame_bytes, mbps(load.fps, load.frame_bytes), load.duration_s)
    options = {"egress_qdisc": qdisc}
    with path_of(presets()[platform], asked, machine, options) as (path, emulated):
        path.testbed.uut.api(GUEST).residence_open()
        _, sent = flow(Trials(), path, asked, emulated=emulated)
        residence = path.testbed.uut.api(GUEST).residence_read()
    if residence.frames < sent.received or residence.p50_ns is None:
        raise NotStamped(f"{platform}: the guest stamped {residence.frames} of {sent.received} frames")
    return Held(residence.p50_ns, sent.delay_p50_ns)

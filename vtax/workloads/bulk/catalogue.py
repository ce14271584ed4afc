"""What is shown of bulk streams: goodput of all guests, what was sent again, and the CPU time it took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace
from pydantic import JsonValue

from vtax.model import numbers
from vtax.model.bound import Limit
from vtax.model.catalogue import Catalogue
from vtax.model.cell import Aside, Cell, Parts, Reading
from vtax.model.diagnosed import STREAMS
from vtax.model.dimensions import GUESTS
from vtax.model.levels import Levels, Setting
from vtax.model.marks import FAR_END_BUSY, marked
from vtax.model.metric import Better, Metric
from vtax.model.metrics import CPU, GOODPUT, LOSS
from vtax.model.quantity import Quantity
from vtax.model.sample import Sample
from vtax.statistics import jain_index
from vtax.units import OVERHEAD_BYTES

GUEST_TO_PEER = "guest-to-peer"
"""The placement of guests that share a link; trials of an earlier vtax have none."""

ETHERNET_BYTES = 14
LINK_FULL = 0.98
"""Share of what a link carries as goodput from which on it is full, as LINK_TOLERANCE of verdicts has it."""
TCP_HEADERS_BYTES = 52
"""IPv4 20, TCP 20, and its timestamps 12."""
UDP_HEADERS_BYTES = 28
"""IPv4 20, UDP 8."""
LINK_FORMULA = (
    "R / N is the share of a full link for each of N guests: layer-1 rate × payload / (mtu + 38 bytes) / N. The "
    "payload is mtu − 52 bytes for TCP with timestamps, mtu − 28 for UDP (mtu 1500: 1448 / 1538, 1472 / 1538)."
)

RETRANSMISSIONS = Metric(
    name="retransmissions",
    column="retransmissions",
    sql="sum(retransmissions)",
    unit="segments",
    better=Better.LOWER,
    form=numbers.mbps,
)
"""Those of all streams in a trial."""

BUSY_GOODPUT = Aside(
    "busy_goodput_mbps", f"min(goodput_mbps) FILTER ({marked(FAR_END_BUSY)})", needs=(GOODPUT,)
)
"""The least goodput of the block's trials in which the CPU of the far ends had no time left."""


class BulkLevels(Levels, frozen=True):
    """What cells of one setting have in common. `buffer_bytes` is None for what the kernels choose."""

    direction: str
    transport: str
    message_bytes: int | None = None
    placement: str | None = GUEST_TO_PEER
    buffer_bytes: int | None = None

    @property
    def placed(self) -> str:
        """The placement, also of trials that record none."""
        return self.placement or GUEST_TO_PEER

    @property
    def shares_link(self) -> bool:
        """Whether guests are behind one link, with a bare peer each; else two ends have a link of their own."""
        return self.placed == GUEST_TO_PEER

    def factors(self, held: Mapping[str, str]) -> Mapping[str, str | float | None]:
        """Return the levels, with the placement of trials that record none."""
        return {**super().factors(held), "placement": self.placed}

    @property
    def phrases(self) -> Sequence[str]:
        """Direction, transport and placement; messages and buffers where they are set."""
        place = "" if self.shares_link else f" {self.placement}"
        messages = [f"{self.message_bytes}-byte messages"] if self.message_bytes else []
        buffers = [f"{self.buffer_bytes}-byte buffers"] if self.buffer_bytes else []
        return (f"{self.direction} {self.transport.upper()}{place}", *messages, *buffers)

    @property
    def rank(self) -> tuple[str, str, str, int, float]:
        """Shorter messages come first, the transport's default last; the kernels' buffers come first."""
        transport = {"tcp": "0", "sctp": "1"}.get(self.transport, self.transport)
        message = self.message_bytes or float("inf")
        return self.direction, self.placed, transport, self.buffer_bytes or 0, message


def bulk_levels(setting: Setting) -> BulkLevels:
    """Return a setting's levels, which are streams'."""
    return setting.of(BulkLevels)


def without_message(setting: Setting) -> Setting:
    """Return what is held fixed while lengths of messages are compared."""
    return Setting(replace(bulk_levels(setting), message_bytes=None), setting.further)


def link_goodput_mbps(setting: Setting, testbed: Mapping[str, JsonValue]) -> float | None:
    """Return R theoretical: the layer-4 payload that full packets bring over the link, Mbit/s.

    `testbed` has the keys of the scenario that no factor varies. None for a link of no set speed, and for SCTP, whose
    packets hold as many chunks as come together.
    """
    levels, keys = bulk_levels(setting), {**testbed, **dict(setting.further)}
    link_mbps, mtu = _number(keys.get("link_mbps")), _number(keys.get("mtu"))
    if link_mbps is None or mtu is None or levels.transport not in ("tcp", "udp"):
        return None
    headers = TCP_HEADERS_BYTES if levels.transport == "tcp" else UDP_HEADERS_BYTES
    payload = mtu - headers
    if levels.transport == "udp" and levels.message_bytes is not None:
        payload = min(payload, levels.message_bytes)
    return link_mbps * payload / (payload + headers + ETHERNET_BYTES + OVERHEAD_BYTES)


def fills_link(goodput_mbps: float, link_mbps: float | None) -> bool:
    """Whether a link that carries so much has room for no more."""
    return link_mbps is not None and goodput_mbps >= LINK_FULL * link_mbps


def far_end_limits(cell: Cell) -> dict[int, Limit]:
    """Return the blocks whose goodput the far ends may have set: their CPU was busy, and the link was not full."""
    link_mbps = link_goodput_mbps(cell.setting, cell.testbed)
    busy = cell.by_block(BUSY_GOODPUT.column)
    return {block: Limit.FAR_END for block, mbps in busy.items() if not fills_link(mbps, link_mbps)}


def link_ratio(cell: Cell) -> Sample | None:
    """Return the goodput as a share of what a full link carries; None where that is not known."""
    goodput, link_mbps = cell.sample(GOODPUT), link_goodput_mbps(cell.setting, cell.testbed)
    return goodput.scaled(1 / link_mbps) if goodput and link_mbps else None


def fairness(cell: Cell) -> Sample | None:
    """Return Jain's index of the guests' goodput by block; None of one guest."""
    guests = [part.by_block for part in cell.parts.values()]
    if not cell.level or cell.level < 2:
        return None
    indices = ((block, jain_index([each.get(block, 0.0) for each in guests])) for block in cell.blocks)
    known = {block: index for block, index in indices if index is not None}
    return cell.sample_of(known, {}) if known else None


def _number(value: JsonValue) -> float | None:
    """Return a key's value; None where it is a word, as `unlimited` is."""
    if not isinstance(value, str | int | float):
        return None
    try:
        return float(value)
    except ValueError:
        return None


CATALOGUE = Catalogue(
    kind="bulk",
    reading=Reading(
        BulkLevels,
        GUESTS,
        asides=(BUSY_GOODPUT,),
        limits=far_end_limits,
        parts=Parts("guest", GOODPUT),
    ),
    metrics=(GOODPUT, LOSS, CPU),
    shown=(GOODPUT, LOSS, RETRANSMISSIONS, CPU),
    disturbed=GOODPUT,
    diagnosed=STREAMS,
    claimed=(
        Quantity.of("goodput_mbps", GOODPUT),
        Quantity("link_ratio", "", numbers.ratio, link_ratio),
        Quantity.of("host_percent", CPU),
        Quantity("fairness", "", numbers.ratio, fairness),
    ),
)

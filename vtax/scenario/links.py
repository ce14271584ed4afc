"""Keys `testbed.*`: the links between the hosts, and how many guests share them."""

from typing import Annotated, Literal

from vtax.scenario.fields import Keys, key, named, written

MOST_GUESTS = 8
"""As many as the papers have on one host."""


class TestbedSettings(Keys):
    """The links of the testbed, and the guests on them."""

    __test__ = False  # not a pytest class, whatever its name begins with

    link_mbps: Annotated[float | None, named("unlimited", "Mbit/s"), written("unlimited")] = key(
        "layer-1 speed of each link", "1 to 1000000, or unlimited", default=None, ge=1, le=1_000_000
    )
    flow_control: bool = key(
        "whether a full receiver makes the source wait (802.3x) instead of losing frames",
        "true, false",
        default=False,
    )
    mtu: int = key("largest IP packet of every link, bytes", "68 to 9000", default=1500, ge=68, le=9000)
    uplink: Literal["dedicated", "shared"] = key(
        "whether each stream has links of its own into the host, or all guests are behind one, which a switch feeds",
        "dedicated, shared",
        default="dedicated",
    )
    guests: int = key(
        "guests on the host, each with a far end of its own",
        f"1 to {MOST_GUESTS}; more than 1 with `uplink: shared`",
        default=1,
        ge=1,
        le=MOST_GUESTS,
    )

    @property
    def is_shared(self) -> bool:
        """Whether all guests are behind one link."""
        return self.uplink == "shared"

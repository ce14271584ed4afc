"""Keys `testbed.*`: the links between the hosts, the guests on them, and the neighbours these have."""

from typing import Annotated, Literal

from vtax.keys.fields import Keys, Named, key, written

MOST_GUESTS = 8
"""As many as the papers have on one host."""

Behaviour = Literal["none", "idle", "light", "heavy", "forward", "bulk", "requests"]
"""What neighbours do (schlosser2011, section 3.4; oljira2016, III.D)."""

Switch = Literal["bridge", "routed", "ovs", "macvtap", "vf"]
"""What joins guests' NICs to the host's link."""


class TestbedSettings(Keys):
    """The links of the testbed, and the guests on them."""

    __test__ = False  # not a pytest class, whatever its name begins with

    link_mbps: Annotated[float | None, Named("unlimited", "Mbit/s"), written("unlimited")] = key(
        "layer-1 speed of each link",
        "1 to 1000000, or unlimited",
        default=None,
        ge=1,
        le=1_000_000,
        short=True,
    )
    flow_control: bool = key(
        "whether a full receiver makes the source wait (802.3x) instead of losing frames",
        "true, false",
        default=False,
        short=True,
    )
    mtu: int = key(
        "largest IP packet of every link, bytes",
        "68 to 9000",
        default=1500,
        ge=68,
        le=9000,
        short=True,
    )
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
        short=True,
    )
    neighbours: Behaviour = key(
        "what further guests of the platform do on the host: rest, load their CPU (light), CPU and memory (heavy), "
        "forward frames of 64 bytes, send a stream of TCP each, answer requests; or that there are none",
        "none, idle, light, heavy, forward, bulk, requests",
        default="none",
        short=True,
    )
    neighbour_guests: int = key(
        "how many there are of them",
        f"0 to {MOST_GUESTS - 1}; 0 is none",
        default=1,
        ge=0,
        le=MOST_GUESTS - 1,
        short=True,
    )
    neighbour_cpus: Literal["bound", "unbound"] = key(
        "whether neighbours run on the guests' CPUs as all guests do, or also on those of the host's own work",
        "bound, unbound",
        default="bound",
        short=True,
    )
    load_share: float = key(
        "load that `forward` is offered, as a share of what the neighbours forward while the guest is idle",
        "more than 0, at most 1",
        default=0.5,
        gt=0,
        le=1,
        short=True,
    )
    switch: Switch = key(
        "what joins guests' NICs to the host's link: a Linux bridge, the host's routing, Open vSwitch, nothing but "
        "NICs on top of the link's end (macvtap, macvlan), a virtual function; `raw` has none of these",
        "bridge, routed, ovs, macvtap, vf",
        default="bridge",
        short=True,
    )
    bridge_netfilter: bool = key(
        "whether the hosts' bridges pass frames to netfilter (br_netfilter)",
        "true, false",
        default=False,
        short=True,
    )
    cap_mbps: Annotated[float | None, Named("none", "Mbit/s"), written("none")] = key(
        "most that a guest's port takes of what the guest sends, layer 1",
        "1 to 1000000, or none",
        default=None,
        ge=1,
        le=1_000_000,
        short=True,
    )

    @property
    def behaviour(self) -> Behaviour:
        """What neighbours do; none where there are none."""
        return self.neighbours if self.neighbour_guests else "none"

    @property
    def has_neighbours(self) -> bool:
        """Whether there are any."""
        return self.behaviour != "none"

    @property
    def neighbours_share_link(self) -> bool:
        """Whether they are on the link of the guest that they are beside, where that is one end of two."""
        return self.behaviour not in ("none", "forward")

    @property
    def is_shared(self) -> bool:
        """Whether all guests are behind one link."""
        return self.uplink == "shared"

"""Whether bridges of a network namespace pass their frames to netfilter: the settings of br_netfilter.

A kernel that has br_netfilter, as a host of Docker's does, gives each new namespace all three of them switched on, and
a bridge there has iptables look at every frame. Each namespace has its own settings (since Linux 5.3); a kernel
without br_netfilter shows none. The functions act on the calling thread's namespace.
"""

from pathlib import Path

SETTINGS = Path("/proc/sys/net/bridge")
TABLES = ("iptables", "ip6tables", "arptables")
"""Of netfilter, each with a setting of its own."""

BridgeNetfilter = dict[str, bool]
"""Whether bridges pass frames to each of TABLES."""


def read_bridge_netfilter() -> BridgeNetfilter | None:
    """Return what is set in this namespace; None where the kernel has no br_netfilter, or has not loaded it."""
    try:
        return {table: _setting(table).read_text().strip() != "0" for table in TABLES}
    except FileNotFoundError:
        return None


def set_bridge_netfilter(enabled: bool) -> None:
    """Set all three in this namespace, which must be one of vtax's own; raises OSError where they do not take it."""
    if read_bridge_netfilter() is not None:
        for table in TABLES:
            _setting(table).write_text(str(int(enabled)))
    found = read_bridge_netfilter()
    if is_other(found, enabled):
        word = "on" if enabled else "off"
        raise OSError(f"cannot switch netfilter {word} for bridges, which {in_words(found)}; see vtax doctor")


def is_other(found: BridgeNetfilter | None, wanted: bool) -> bool:
    """Whether bridges do otherwise than is wanted; without br_netfilter they pass no frame on."""
    return any(on != wanted for on in found.values()) if found is not None else wanted


def in_words(found: BridgeNetfilter | None) -> str:
    """Return what bridges do, as a predicate."""
    on = [table for table, enabled in (found or {}).items() if enabled]
    return f"pass frames to {', '.join(on)}" if on else "pass no frame to netfilter"


def _setting(table: str) -> Path:
    return SETTINGS / f"bridge-nf-call-{table}"

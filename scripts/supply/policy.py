"""What agent/deny.toml allows, and which licence expressions it permits."""

import re
import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DENY = ROOT / "agent/deny.toml"
TOKEN = re.compile(r"\(|\)|/|[^\s()/]+")


@dataclass(frozen=True)
class Policy:
    """The parts of cargo-deny's settings that need no network."""

    licences: frozenset[str]
    registries: frozenset[str]
    banned: frozenset[str]
    in_several_versions: frozenset[str]


def read_policy(path: Path = DENY) -> Policy:
    """Read the settings."""
    settings = tomllib.loads(path.read_text())
    bans = settings["bans"]
    return Policy(
        frozenset(settings["licenses"]["allow"]),
        frozenset(settings["sources"]["allow-registry"]),
        frozenset(each["crate"] for each in bans["deny"]),
        frozenset(each["crate"] for each in bans["skip"]),
    )


def permits(expression: str, allowed: Collection[str]) -> bool:
    """Return whether an SPDX licence expression can be met by allowed licences alone.

    `WITH` adds permissions to a licence, so the licence decides. `/` is the older form of `OR`. Raises ValueError.
    """
    tokens = TOKEN.findall(expression)

    def either() -> bool:
        met = both()
        while tokens and tokens[0] in ("OR", "/"):
            tokens.pop(0)
            met = both() or met
        return met

    def both() -> bool:
        met = one()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            met = one() and met
        return met

    def one() -> bool:
        if not tokens or tokens[0] in ("OR", "AND", "WITH", ")", "/"):
            raise ValueError(f"{expression!r} is no licence expression")
        licence = tokens.pop(0)
        if licence == "(":
            met = either()
            if not tokens or tokens.pop(0) != ")":
                raise ValueError(f"{expression!r} has an open parenthesis")
            return met
        if tokens and tokens[0] == "WITH":
            del tokens[:2]
        return licence in allowed

    met = either()
    if tokens:
        raise ValueError(f"{expression!r} is no licence expression from {tokens[0]!r} on")
    return met

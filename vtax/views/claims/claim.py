"""A claim: what a paper found, where it says so, and the test that tells whether it holds for a result."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator, Field

from vtax.keys.fields import Keys, key
from vtax.model.platform import RAW, Platform
from vtax.views.claims.checks import AnyCheck


class Group(StrEnum):
    """The platforms that a claim is about, each judged by itself."""

    VIRTUAL = "virtual"
    CONTAINERS = "containers"
    MACHINES = "machines"
    BARE = "bare"
    EVERY = "every"

    def has(self, platform: Platform) -> bool:
        """Whether the platform is one of them."""
        bare, container = platform.name == RAW, platform.kind in CONTAINER_KINDS
        match self:
            case Group.BARE:
                return bare
            case Group.CONTAINERS:
                return container
            case Group.MACHINES:
                return not bare and not container
            case Group.VIRTUAL:
                return not bare
        return True


CONTAINER_KINDS = ("container", "lxc")
"""Kinds of platforms whose guests have the host's kernel."""


def _group(value: object) -> Group:
    if value not in list(Group):
        raise ValueError(f'"{value}" is no group of platforms; allowed: {", ".join(Group)}')
    return Group(str(value))


class ClaimFile(Keys):
    """A claim as it is written, under its name, in `claims.yaml` beside the scenarios of its paper."""

    says: Annotated[str, key("finding of the paper, in one sentence", "text", min_length=1)]
    where: Annotated[str, key("section, figure or table", "text, in quotes", min_length=1)]
    scenarios: Annotated[
        list[str],
        Field(min_length=1),
        key("scenarios of the paper whose results can test it", "names without that of the paper"),
    ]
    platforms: Annotated[Group, BeforeValidator(_group)] = key(
        "platforms it is about: all but the bare host (virtual), those with the host's kernel (containers), "
        "those with one of their own (machines), the bare host, or all",
        ", ".join(Group),
        default=Group.VIRTUAL,
    )
    test: Annotated[AnyCheck, key("the test", "the keys of its kind")]


@dataclass(frozen=True)
class Claim:
    """A claim of a paper by its name; `scenarios` are named as `vtax run` names them."""

    paper: str
    name: str
    file: ClaimFile

    @property
    def full_name(self) -> str:
        """With the paper's: `schlosser2011/bare-host-scales`."""
        return f"{self.paper}/{self.name}"

    @property
    def scenarios(self) -> list[str]:
        """Those whose results can tell."""
        return [f"{self.paper}/{name}" for name in self.file.scenarios]

"""The names of factors: dotted keys of a scenario, and the short ones that stand for them."""

import re
from dataclasses import dataclass
from typing import Literal, get_args

from vtax.inputs import advised, suggestion
from vtax.keys.fields import PLATFORM_KEY, Keys, marked
from vtax.keys.testbed import TestbedSettings
from vtax.registry.keys import KINDS

PLATFORM_NAMES = ("version", "vcpus", "memory_bytes", "host_weight")
"""Keys of platforms that go by their names alone; what keys there are, each kind of platform says itself."""

SHORT_NAMES = {
    **{name: f"workload.{name}" for kind in KINDS.values() for name in marked(kind, "short")},
    **{name: f"testbed.{name}" for name in marked(TestbedSettings, "short")},
    **{name: f"platform.{name}" for name in PLATFORM_NAMES},
}

_LAID_FOR = {name for kind in KINDS.values() for name in marked(kind, "laid_for")}

_WORKLOAD_KEYS = dict.fromkeys(
    name for kind in KINDS.values() for name in kind.model_fields if name != "kind"
)
_DOTTED = [
    *(f"workload.{name}" for name in _WORKLOAD_KEYS),
    *(f"testbed.{name}" for name in TestbedSettings.model_fields),
]
_SHORT_OF = {dotted: short for short, dotted in SHORT_NAMES.items()}

Section = Literal["preset", "workload", "testbed", "platform"]
SECTIONS: tuple[Section, ...] = get_args(Section)


@dataclass(frozen=True)
class Key:
    """What a factor varies: the preset itself, or the key `name` in a section of the scenario."""

    section: Section
    name: str

    @classmethod
    def parse(cls, text: str) -> "Key":
        """The key that `text` names, short or dotted; ValueError says which names there are."""
        if text == "platform":
            return cls("preset", "platform")
        dotted = SHORT_NAMES.get(text, text)
        section, _, name = dotted.partition(".")
        match section:
            case "workload" if dotted in _DOTTED:
                return cls("workload", name)
            case "testbed" if dotted in _DOTTED:
                return cls("testbed", name)
            case "platform" if re.fullmatch(PLATFORM_KEY, name):
                return cls("platform", name)
        near = suggestion(text, ["platform", *SHORT_NAMES, *_DOTTED])
        names = ", ".join(["platform", *SHORT_NAMES, "workload.*, testbed.* and platform.*"])
        rest = "vtax schema scenario prints all keys" if near else f"allowed: {names}"
        raise ValueError(advised(f'unknown factor "{text}"', near, rest))

    @property
    def column(self) -> str:
        """Its name in cells and tables: the short name where there is one."""
        return self.name if self.section == "preset" else _SHORT_OF.get(self.dotted, self.dotted)

    @property
    def dotted(self) -> str:
        """Its name in full."""
        return self.name if self.section == "preset" else f"{self.section}.{self.name}"

    def model(self, kind: str) -> type[Keys] | None:
        """What the key is a field of in a scenario whose workload is of that kind; None for the platforms' own."""
        match self.section:
            case "workload":
                return KINDS[kind]
            case "testbed":
                return TestbedSettings
        return None

    @property
    def whole_plot(self) -> bool:
        """Whether another value needs another testbed or guest."""
        return self.section != "workload" or self.name in _LAID_FOR

"""Whose CPU time is whose: the accounts that threads and processes of a testbed belong to."""

import re
from typing import Self

from msgspec import Struct

HOST = "host"
INGRESS = "ingress"
NUMBERED = re.compile(r"([a-z]+)([0-9]+)")
"""A name of one of several guests, or of one of their far ends."""


class Account(Struct, frozen=True, omit_defaults=True):
    """A component of a domain, such as a guest; docs/cpu-ledger.md lists them."""

    domain: str
    component: str
    number: int | None = None
    """Which of several guests it is, or whose far end; None of the only one, and of what is not numbered."""
    interface: str | None = None
    """Of whose frames, where interfaces of a host have a thread each."""

    @classmethod
    def of_ingress(cls, interface: str) -> Self:
        """Return that of the thread which polls an interface of the UUT's host."""
        return cls(HOST, INGRESS, interface=interface)

    @classmethod
    def of_guest(cls, name: str, component: str) -> Self:
        """Return that of a component of a guest."""
        numbered = NUMBERED.fullmatch(name)
        return cls(name, component) if numbered is None else cls(numbered[1], component, int(numbered[2]))

    @classmethod
    def of_agent(cls, name: str) -> Self:
        """Return that of an agent, which is called by its domain and, where that has several, by which it is."""
        domain, *which = name.split(" ", 1)
        return cls.of_guest(domain, " ".join([*which, "agent"]))

    @property
    def component_label(self) -> str:
        """The component where the domain is known."""
        return self.component if self.interface is None else f"{self.component} {self.interface}"

    @property
    def label(self) -> str:
        """The account in words; an ingress is known by its interface."""
        if self.interface is not None:
            return self.component_label
        number = "" if self.number is None else self.number
        return f"{self.domain}{number} {self.component}"


CONTROLLER = Account("controller", "vtax")

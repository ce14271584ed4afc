"""The machines of a campaign, as its result tells of them: every one of the testbed, the unit under test's first."""

import json
from collections.abc import Mapping
from dataclasses import asdict

from pydantic import JsonValue

import vtax
from vtax.machine.bridge_netfilter import BridgeNetfilter
from vtax.results import Row
from vtax.testbed.layout import shared_core
from vtax.testbed.machines import Machine, Machines


def described(machines: Machines) -> dict[str, JsonValue]:
    """For campaign.json (`hosts`): by the machine's name its facts, what it does, and for the UUT's a label."""
    uut = machines.machine("uut")
    label = {"label": "shared-core" if shared_core(uut.cpus) else None}
    return {
        machine.name: {**asdict(machine.environment()), "roles": roles, **(label if machine is uut else {})}
        for machine, roles in _with_roles(machines)
    }


def environment_rows(machines: Machines, bridge_netfilter: Mapping[str, BridgeNetfilter | None]) -> list[Row]:
    """Return a trial's rows of `environment`; `bridge_netfilter` is by host, as Path.bridge_netfilter returns it."""
    versions = json.dumps({"vtax": vtax.__version__})
    by_machine: dict[str, dict[str, BridgeNetfilter | None]] = {}
    for host, found in bridge_netfilter.items():
        by_machine.setdefault(machines.machine(host).name, {})[host] = found
    return [
        {
            "host": machine.name,
            "roles": roles,
            "versions": versions,
            "bridge_netfilter": json.dumps(by_machine.get(machine.name, {})),
            **machine.environment_columns(),
        }
        for machine, roles in _with_roles(machines)
    ]


def _with_roles(machines: Machines) -> list[tuple[Machine, str]]:
    """Every machine, once, with the hosts that are on it."""
    found: dict[str, tuple[Machine, list[str]]] = {}
    for role in ("uut", "source", "sink"):
        for host in machines.roles[role]:
            machine = machines.machine(host)
            found.setdefault(machine.name, (machine, []))[1].append(host)
    return [(machine, ", ".join(hosts)) for machine, hosts in found.values()]

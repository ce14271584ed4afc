"""The machines of a campaign, as its result tells of them: every one of the testbed, the unit under test's first."""

import json
from typing import Any

import vtax
from vtax.testbed.layout import shared_core
from vtax.testbed.machines import Machine, Machines


def described(machines: Machines) -> dict[str, dict[str, Any]]:
    """For campaign.json (`hosts`): by the machine's name its facts, what it does, and for the UUT's a label."""
    uut = machines.machine("uut")
    label = {"label": "shared-core" if shared_core(uut.cpus) else None}
    return {
        machine.name: {**machine.environment(), "roles": roles, **(label if machine is uut else {})}
        for machine, roles in _with_roles(machines)
    }


def environment_rows(machines: Machines) -> list[dict[str, Any]]:
    """A trial's rows of `environment`."""
    versions = json.dumps({"vtax": vtax.__version__})
    return [
        {"host": machine.name, "roles": roles, "versions": versions, **machine.environment_columns()}
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

"""Which neighbours a cell has, and where."""

from vtax.keys.cell import Cell
from vtax.platforms import Preset
from vtax.testbed.machines import Machines
from vtax.testbed.neighbours import needing, own_links
from vtax.testbed.testbed import Testbed
from vtax.trial.beside import Neighbours
from vtax.trial.neighbours.endpoint_neighbours import InBulk, InRequests
from vtax.trial.neighbours.forward import Forward
from vtax.trial.neighbours.stress import LOADS, Stress


def neighbours_of(cell: Cell, testbed: Testbed, preset: Preset, machines: Machines) -> Neighbours:
    """Those of a cell: where the testbed's network has a place for them, or on links of their own."""
    behaviour = cell.testbed.behaviour
    if behaviour == "none":
        return Neighbours()
    site = _site(cell, testbed, preset, machines)
    if behaviour == "forward":
        return Forward(site, cell.testbed.load_share)
    if (load := LOADS.get(behaviour)) is not None:
        return Stress(site, load)
    if behaviour == "idle":
        return Neighbours(site)
    talk = InBulk if behaviour == "bulk" else InRequests
    return talk(site, own_kernel=preset.platform().own_kernel)


def _site(cell: Cell, testbed: Testbed, preset: Preset, machines: Machines) -> Testbed:
    wanted, settings = cell.testbed, testbed.settings
    load = LOADS.get(wanted.behaviour)
    cpus = settings.uut_cpus if wanted.neighbour_cpus == "unbound" else None
    network = testbed.network.beside or own_links(
        settings,
        settings.port_kind(preset.platform().port),
        wanted.neighbour_guests,
        talks=wanted.behaviour in ("bulk", "requests"),
    )
    needed = needing(network, load.guest_bytes if load else 0, cpus)
    return Testbed(needed, machines, around=testbed)

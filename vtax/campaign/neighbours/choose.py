"""Which neighbours a cell has, and where."""

from vtax.campaign.neighbours.base import Neighbours
from vtax.campaign.neighbours.forward import Forward
from vtax.campaign.neighbours.stress import LOADS, Stress
from vtax.campaign.neighbours.talk import InBulk, InRequests
from vtax.campaign.path import Testbed
from vtax.platforms import Preset
from vtax.scenario import Cell
from vtax.testbed.machines import Machines
from vtax.testbed.neighbours import Needs, NeighbourSite, OnGuestsLink, OwnLinks
from vtax.testbed.pair import PairTestbed


def neighbours_of(cell: Cell, testbed: Testbed, preset: Preset, machines: Machines) -> Neighbours:
    """Those of a cell: on the link that a pair of ends has, or on links of their own."""
    behaviour = cell.testbed.behaviour
    if behaviour == "none":
        return Neighbours()
    if behaviour == "forward":
        return Forward(_own_links(cell, testbed, machines), cell.testbed.load_share)
    site, settings = _site(cell, testbed, machines), testbed.settings
    if (load := LOADS.get(behaviour)) is not None:
        return Stress(site, load)
    if behaviour == "idle":
        return Neighbours(site)
    talk = InBulk if behaviour == "bulk" else InRequests
    own_kernel = preset.platform().own_kernel
    return talk(site, own_kernel=own_kernel, far_cpu=settings.cpus["agents"][0], mtu=settings.mtu)


def _site(cell: Cell, testbed: Testbed, machines: Machines) -> NeighbourSite:
    if isinstance(testbed, PairTestbed):
        return OnGuestsLink(testbed, _needs(cell, testbed))
    return _own_links(cell, testbed, machines)


def _own_links(cell: Cell, testbed: Testbed, machines: Machines) -> OwnLinks:
    wanted, talks = cell.testbed, cell.testbed.behaviour in ("bulk", "requests")
    needs = _needs(cell, testbed)
    return OwnLinks(testbed.settings, wanted.neighbour_guests, testbed.uut, machines, needs, talks=talks)


def _needs(cell: Cell, testbed: Testbed) -> Needs:
    load = LOADS.get(cell.testbed.behaviour)
    cpus = testbed.settings.uut_cpus if cell.testbed.neighbour_cpus == "unbound" else None
    return Needs(load.guest_bytes if load else 0, cpus)

"""Which neighbours a cell has, and where."""

from vtax.campaign.neighbours.base import Neighbours
from vtax.campaign.neighbours.forward import Forward
from vtax.campaign.neighbours.stress import LOADS, Stress
from vtax.campaign.neighbours.talk import InBulk, InRequests
from vtax.campaign.path import Testbed
from vtax.machine.ownership import OwnershipRecord
from vtax.platforms import Preset
from vtax.scenario import Cell
from vtax.testbed.neighbours import Needs, NeighbourSite, OnGuestsLink, OwnLinks
from vtax.testbed.pair import PairTestbed


def neighbours_of(cell: Cell, testbed: Testbed, preset: Preset, record: OwnershipRecord) -> Neighbours:
    """Those of a cell: on the link that a pair of ends has, or on links of their own."""
    behaviour = cell.testbed.behaviour
    if behaviour == "none":
        return Neighbours()
    settings, load = testbed.settings, LOADS.get(behaviour)
    agents_cpu = settings.cpus["agents"][0]
    if behaviour == "forward":
        return Forward(_own_links(cell, testbed, record), cell.testbed.load_share, agents_cpu)
    site = _site(cell, testbed, record)
    if load is not None:
        return Stress(site, load)
    if behaviour == "idle":
        return Neighbours(site)
    talk = InBulk if behaviour == "bulk" else InRequests
    own_kernel = preset.platform().own_kernel
    return talk(site, own_kernel=own_kernel, far_cpu=agents_cpu, mtu=settings.mtu)


def _site(cell: Cell, testbed: Testbed, record: OwnershipRecord) -> NeighbourSite:
    if isinstance(testbed, PairTestbed):
        return OnGuestsLink(testbed, _needs(cell, testbed))
    return _own_links(cell, testbed, record)


def _own_links(cell: Cell, testbed: Testbed, record: OwnershipRecord) -> OwnLinks:
    wanted, talks = cell.testbed, cell.testbed.behaviour in ("bulk", "requests")
    needs = _needs(cell, testbed)
    return OwnLinks(testbed.settings, wanted.neighbour_guests, testbed.uut, record, needs, talks=talks)


def _needs(cell: Cell, testbed: Testbed) -> Needs:
    load = LOADS.get(cell.testbed.behaviour)
    cpus = testbed.settings.uut_cpus if cell.testbed.neighbour_cpus == "unbound" else None
    return Needs(load.guest_bytes if load else 0, cpus)

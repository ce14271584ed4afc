"""How threads of a source share streams and flows, and what is said where they cannot."""

import pytest

from tests.helpers.trials import make_cell
from vtax.keys.frames import strands_of
from vtax.keys.testbed import TestbedSettings
from vtax.workloads.forwarding.keys import Forwarding


@pytest.mark.parametrize(
    ("threads", "streams", "strands"),
    [
        (1, [1], 1),
        (2, [1], 2),
        (8, [1], 8),
        (3, [1], None),
        (2, [3], 2),
        (3, [3], 1),
        (6, [3], 2),
        (4, [3], 4),
        (5, [3], None),
        (2, [2, 1], 2),
        (2, [4, 2], 1),
    ],
)
def test_all_threads_have_equally_many_strands(threads: int, streams: list[int], strands: int | None) -> None:
    assert strands_of(threads, *streams) == strands


def refusals(**workload: object) -> list[tuple[str, str]]:
    work = make_cell(**workload).of(Forwarding)
    found = work.refusals(TestbedSettings(link_mbps="unlimited", flow_control=False))
    return [(refusal.name, refusal.problem) for refusal in found]


def test_threads_that_cannot_share_evenly_are_refused_with_those_that_can() -> None:
    assert refusals(source_threads=2, flows=6) == []
    assert refusals(source_threads=3, streams=3) == []
    ((name, problem),) = refusals(source_threads=3, flows=12)
    assert name == "source_threads"
    assert problem.startswith("3 threads do not get equally many of the whole flows of 1 stream a source")
    assert problem.endswith("allowed: 1, 2, 4, or others with more flows or streams")
    ((_, problem),) = refusals(source_threads=2)
    assert problem.endswith("allowed: 1, or others with more flows or streams")


def test_what_pktgen_cannot_make_is_refused_by_its_key() -> None:
    assert refusals(mechanism="pktgen") == []
    beyond = {"frame_bytes": "imix", "flows": 2, "ip_version": 6, "trace": "stages"}
    for name, value in beyond.items():
        more = {"frame_bytes": 100} if name == "ip_version" else {}
        found = dict(refusals(mechanism="pktgen", **{name: value, **more}))
        assert found[name].startswith("with pktgen, "), found
    assert "source_threads" in dict(refusals(mechanism="pktgen", source_threads=2, streams=2))

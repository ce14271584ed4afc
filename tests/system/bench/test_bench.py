"""The bench counts only what arrives."""

from pathlib import Path

import pytest

from bench import link
from bench.ground import link_ground
from vtax.agent_api import Mechanism
from vtax.keys.frames import FrameSpec
from vtax.testbed.host_session import hold_host
from vtax.testbed.layout import cpu_layout

pytestmark = pytest.mark.system


@pytest.mark.measures
def test_what_arrives_is_counted_whoever_sent_it(tmp_path: Path) -> None:
    """The counter agrees with what the agent says it sent, and does not believe a length that was not sent."""
    params = FrameSpec(64).run(1, "gso", {"measure": 0.4}, intended_fps=500_000, probe_fps=1000)
    with (
        hold_host("test bench") as record,
        link_ground(record, cpu_layout(), tmp_path, own_context=False) as ground,
    ):
        ground.open_source()
        with ground.counting(64) as counter:
            reply = ground.sender.source_run(params)
            counted = counter.read()
        sent = reply.streams[0].phases[0].frames_sent
        assert counted.frames == sent
        assert counted.fps == pytest.approx(500_000, rel=0.01)
        with ground.counting(1500) as counter:
            ground.sender.source_run(params)
            assert counter.read().frames == 0


@pytest.mark.parametrize(("frame_bytes", "mechanism"), [(64, "af_xdp"), (64, "raw"), (1500, "raw")])
def test_no_time_has_more_than_the_link_and_its_bucket_and_no_frame_comes_twice(
    tmp_path: Path, frame_bytes: int, mechanism: Mechanism
) -> None:
    with (
        hold_host("test bench link") as record,
        link_ground(record, cpu_layout(), tmp_path, own_context=True, link_mbps=link.LINK_MBPS) as ground,
    ):
        found = link.trial(ground, frame_bytes, mechanism)
    assert 0 < found.came.frames == found.sent.frames_sent
    assert (found.came.twice, found.came.late) == (0, 0)
    assert found.came.highest_ps <= link.BUCKET_BYTES * link.PS_PER_BYTE

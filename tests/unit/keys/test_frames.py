"""Frames on their way from a scenario's keys to what source and sink are asked."""

import ast
from collections.abc import Iterator

import pytest

from tests.helpers.paths import ROOT
from tests.helpers.trials import make_cell
from vtax.keys.frames import FrameSpec
from vtax.testbed.addressing import StreamAddresses, source_stream
from vtax.trial.frames.measured import as_run

MADE_OF_FRAMES = {
    "SourceStream": {"vtax/testbed/addressing.py"},
    "SourcePhase": {"vtax/keys/frames.py"},
    "SourceRunParams": {"vtax/keys/frames.py"},
    "SourceCalibrateParams": {"vtax/keys/frames.py"},
    "SinkArmParams": {"vtax/keys/frames.py"},
}
"""What tells agents of frames, and where it may be made."""
METHODS = {"source.open", "source.run", "source.calibrate", "sink.arm"}


@pytest.mark.parametrize(
    ("frame_bytes", "lengths"),
    [
        (1500, 1500),
        ("1:64 1:100", [64, 100]),
        ("imix", [88, 590, 88, 88, 590, 88, 1514, 88, 590, 88, 590, 88]),
    ],
)
def test_source_and_sink_are_asked_for_the_frames_of_the_scenario(
    frame_bytes: int | str, lengths: int | list[int]
) -> None:
    cell = make_cell(frame_bytes=frame_bytes, flows=5, vlan=7, ip_version=6, warmup_s=0)
    frames = cell.frame_load.frames
    stream = StreamAddresses(0, 6)
    run = as_run(3, cell.frame_load, "raw")
    assert (run.trial, run.mechanism, run.flows, run.frame_bytes) == (3, "raw", 5, lengths)
    assert run.intended_fps == cell.frame_load.intended_fps
    assert [(phase.phase, phase.duration_s) for phase in run.phases] == [("measure", 1.0)]
    assert frames.arm(3, "measure").frame_bytes == lengths
    assert (frames.calibrate("paced").frame_bytes, frames.calibrate("flood").flows) == (lengths, 5)
    assert source_stream(stream, "src0", stream.uut_in_mac, frames, link_mbps=None).vlan == 7


def test_frames_are_what_they_are_made_of() -> None:
    assert make_cell(frame_bytes="imix").frame_load.frames == FrameSpec("imix")
    assert len({FrameSpec(64), FrameSpec(64), FrameSpec(64, flows=2)}) == 2


def test_there_is_no_other_way_to_source_and_sink() -> None:
    made: dict[str, set[str]] = {name: set() for name in MADE_OF_FRAMES}
    for path, node in nodes_of_vtax():
        if isinstance(node, ast.Constant):
            assert node.value not in METHODS, f"{path} calls {node.value} by name"
        if isinstance(node, ast.Call) and (name := called(node)) in made:
            made[name].add(path)
    assert made == MADE_OF_FRAMES


def nodes_of_vtax() -> Iterator[tuple[str, ast.AST]]:
    for path in (ROOT / "vtax").rglob("*.py"):
        name = str(path.relative_to(ROOT))
        if name != "vtax/agent_api.py":
            for node in ast.walk(ast.parse(path.read_text())):
                yield name, node


def called(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")

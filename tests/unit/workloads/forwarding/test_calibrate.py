"""Which mechanism sends a load, by what calibration found."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.trials import make_cell
from vtax.agent_api import Ceiling, Mechanism, MechanismRefusal, SourceCalibrateAnswer
from vtax.keys.cell import Cell
from vtax.keys.frames import FrameSpec
from vtax.testbed.settings import LocalSettings
from vtax.units import fps
from vtax.workloads.forwarding.measure.calibrate import (
    AMPLE,
    Ceilings,
    MechanismRefused,
    Traffic,
    asked,
    asked_mechanisms,
    together,
)

REASON = "tx-udp-segmentation of src0 is on: trains would leave uncut; switch it off"


def ceilings(**fps_by_mechanism: float) -> Ceilings:
    """What a calibration found for one stream of 64 bytes, the same for both loads."""
    ranked = sorted(fps_by_mechanism.items(), key=lambda found: -found[1])
    found = Ceilings()
    for load in ("paced", "flood"):
        answer = SourceCalibrateAnswer(
            ceilings=[Ceiling(mechanism=name, ceiling_fps=rate) for name, rate in ranked],
            refused=[
                MechanismRefusal(mechanism=name, reason=REASON)
                for name in ("gso", "af_xdp")
                if name not in fps_by_mechanism
            ],
        )
        found.add(load, Traffic(1, FrameSpec(64)), answer)
    return found


def load(intended_mbps: float | str, mechanism: str = "auto") -> Cell:
    return make_cell(frame_bytes=64, intended_mbps=intended_mbps, mechanism=mechanism)


def test_what_no_cell_is_is_not_calibrated() -> None:
    two = make_cell(frame_bytes=64, streams=2, intended_mbps=5)
    assert asked([two, load(5), load(7), load("max")]) == [
        (Traffic(1, FrameSpec(64)), "paced"),
        (Traffic(1, FrameSpec(64)), "flood"),
        (Traffic(2, FrameSpec(64)), "paced"),
    ]


def test_a_flood_goes_by_the_fastest() -> None:
    found = ceilings(raw=1e6, gso=3e6, af_xdp=2e6)
    assert found.choose(load("max")).mechanism == "gso"
    assert found.choose(load("max")).load == "flood"


@given(st.floats(1e4, 1e7), st.floats(1e4, 1e7), st.floats(1, 1000))
def test_a_paced_load_is_sent_plainly_where_that_reaches_it_with_ease(
    raw: float, gso: float, intended_mbps: float
) -> None:
    chosen = ceilings(raw=raw, gso=gso).choose(load(intended_mbps))
    if raw >= AMPLE * fps(intended_mbps, 64):
        assert chosen.mechanism == "raw"
    else:
        assert chosen.ceiling_fps == max(raw, gso)


def test_a_traced_load_is_sent_through_the_sources_queue() -> None:
    found = ceilings(raw=1e6, gso=3e6, af_xdp=2e6)
    traced = make_cell(frame_bytes=64, intended_mbps="max", trace="stages")
    assert found.choose(traced).mechanism == "raw"


def test_a_named_mechanism_is_used_however_slow() -> None:
    found = ceilings(raw=1e6, gso=3e6, af_xdp=2e6)
    for mechanism in ("raw", "gso", "af_xdp"):
        assert found.choose(load("max", mechanism)).mechanism == mechanism
        assert found.choose(load(10.0, mechanism)).mechanism == mechanism


def test_the_kernel_s_generator_sends_where_it_is_named_alone() -> None:
    found = ceilings(raw=1e6, pktgen=3e6)
    assert found.choose(load("max")).mechanism == "raw"
    assert found.choose(load(900.0)).mechanism == "raw"
    assert found.choose(load("max", "pktgen")).mechanism == "pktgen"
    assert asked_mechanisms([load("max")]) == ("raw", "gso", "af_xdp")
    assert asked_mechanisms([load("max"), load(10.0, "pktgen")]) == ("raw", "gso", "af_xdp", "pktgen")


def test_a_named_mechanism_that_was_refused_is_refused_with_the_reason() -> None:
    with pytest.raises(MechanismRefused, match="gso is refused here: tx-udp-segmentation of src0"):
        ceilings(raw=1e6).choose(load("max", "gso"))
    assert ceilings(raw=1e6).choose(load("max")).mechanism == "raw"


def test_every_ceiling_is_listed_for_the_result() -> None:
    listed = ceilings(raw=1e6, gso=3e6).as_json()
    assert {(entry["load"], entry["mechanism"]) for entry in listed} == {
        ("paced", "raw"),
        ("paced", "gso"),
        ("flood", "raw"),
        ("flood", "gso"),
    }


@pytest.mark.parametrize(
    ("link_mbps", "flow_control", "refused"),
    [(None, False, []), (None, True, ["gso"]), (1000.0, True, ["gso"])],
)
def test_flow_control_refuses_trains_that_its_far_end_would_cut(
    link_mbps: float | None, flow_control: bool, refused: list[str]
) -> None:
    settings = LocalSettings(link_mbps, flow_control, 1500, {})
    names = ("auto", "raw", "gso", "af_xdp")
    assert [name for name in names if settings.refusal(name) is not None] == refused


def answer(refused: Mechanism | None = None, **fps_by_mechanism: float) -> SourceCalibrateAnswer:
    """What one source answers to `source.calibrate`."""
    return SourceCalibrateAnswer(
        ceilings=[Ceiling(mechanism=name, ceiling_fps=rate) for name, rate in fps_by_mechanism.items()],
        refused=[] if refused is None else [MechanismRefusal(mechanism=refused, reason=REASON)],
    )


def test_several_sources_offer_what_the_slowest_gives_each_stream() -> None:
    """Three streams at two sources: the first has two of them."""
    found = together([answer(raw=1e6, gso=4e6), answer(raw=2e6, gso=1e6)], [2, 1])
    assert found.ceilings == [
        Ceiling(mechanism="gso", ceiling_fps=3e6),
        Ceiling(mechanism="raw", ceiling_fps=1.5e6),
    ]


def test_what_one_source_refuses_none_uses() -> None:
    found = together([answer(raw=1e6, gso=4e6), answer(refused="gso", raw=2e6)], [1, 1])
    assert [ceiling.mechanism for ceiling in found.ceilings] == ["raw"]
    assert found.refused == [MechanismRefusal(mechanism="gso", reason=REASON)]


@given(st.floats(1e4, 1e7), st.integers(1, 8))
def test_one_source_offers_what_it_says(rate: float, streams: int) -> None:
    assert together([answer(raw=rate)], [streams]) == answer(raw=rate)

"""Rate and loss a router as the views show them, beside what the paper prints."""

from pathlib import Path
from typing import Any

import pytest

from tests.helpers.results.builder import make
from tests.helpers.results.forwarding import blocks
from vtax.model.frames import frame_levels
from vtax.model.table import text_of
from vtax.results import Result
from vtax.units import fps
from vtax.views import as_json
from vtax.views.routers_table import routers_table
from vtax.views.summary import summarise

SHARED = {"testbed": {"uplink": "shared"}, "source": {"paper": "anhalt2009", "section": "IV.C.1"}}


def routers(directory: Path, **scenario: Any) -> Result:
    """Plain and emulated routers, two behind one uplink of 1000 Mbit/s."""
    common = {"frame_bytes": 1514, "intended_mbps": None, "offered_mbps": 1000.0, "streams": 2}
    trials = [
        *blocks([480, 500], **common),
        *blocks([100, 100], platform="qemu-virtio", emulated=True, **common),
    ]
    return make(directory, trials, scenario=scenario)


def test_a_router_s_rate_is_the_mean_over_routers_and_repetitions(tmp_path: Path) -> None:
    raw, _ = summarise(routers(tmp_path / "r", **SHARED)).loads.routers
    assert (raw.platform, frame_levels(raw.setting).streams, raw.received_fps.n) == ("raw", 2, 2)
    assert raw.received_fps.value == pytest.approx(fps(490, 1514))
    assert raw.loss_ratio.value == pytest.approx(0.51)
    assert raw.loss_ratio.has_interval


def test_published_rates_stand_apart_as_other_hardware(tmp_path: Path) -> None:
    table = routers_table(summarise(routers(tmp_path / "r", **SHARED)))
    raw, emulated, published = table.sections
    document = as_json(routers(tmp_path / "again", **SHARED))
    assert document["routers"] and document["published_routers"]
    assert (raw.title, emulated.title) == ("1514-byte frames", "1514-byte frames: emulated CPU")
    assert published.title.startswith("1500-byte packets, published (IV.C.1, Table II): IBM eServer 326m")
    printed = [[text_of(cell) for cell in row][:5] for row in published.rows]
    assert printed[1] == ["Xen 3.2", "2", "max", "40,841", "50"]
    assert printed[-1] == ["classical Linux", "1", "max", "81,277", "0.00"]
    assert "no ratio" in table.note


def test_guests_without_a_shared_uplink_are_no_routers_of_the_paper(tmp_path: Path) -> None:
    summary = summarise(routers(tmp_path / "r", source=SHARED["source"]))
    assert (summary.loads.routers, summary.loads.published_routers) == ([], [])


def test_a_scenario_of_one_s_own_has_no_published_rates(tmp_path: Path) -> None:
    summary = summarise(routers(tmp_path / "r", testbed=SHARED["testbed"]))
    assert len(summary.loads.routers) == 2
    assert summary.loads.published_routers == []

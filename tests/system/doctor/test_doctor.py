"""What the doctor says of a machine, and that trying it out leaves nothing there."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.checks import of_group
from vtax.doctor import examine, links
from vtax.doctor.bench import Bench, open_bench
from vtax.machine.ingress import thread_ingress
from vtax.machine.lock import HostLock

pytestmark = pytest.mark.system


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with open_bench(tmp_path) as bench:
        yield bench


@pytest.mark.measures
def test_links_are_tried_out_quickly(tmp_path: Path) -> None:
    begun = time.monotonic()
    checks = examine(tmp_path)
    assert time.monotonic() - begun < 3
    assert list(dict.fromkeys(check.group for check in checks)) == [
        "machine",
        "links",
        "switches",
        "platforms",
    ]
    tried = of_group(checks, "links")
    assert list(tried) == [
        *("rate", "shared uplink", "ingress thread", "bridge port", "flow control", "native XDP"),
        *("delay stages", "drop reasons"),
    ]
    for check in checks:
        assert check.detail
        assert check.usable or check.fix or "needs " in check.detail
        assert "\n" not in f"{check.detail}{check.fix}"
    switches = of_group(checks, "switches")
    assert list(switches) == ["bridge", "routed", "ovs", "macvtap", "vf"]
    assert "links of the built-in testbed are veth pairs" in switches["vf"].detail
    assert "xdp-native in less than" in tried["native XDP"].detail
    assert tried["drop reasons"].usable == Path("/sys/kernel/btf/vmlinux").exists()
    assert os.listdir(tmp_path) == ["lock"]  # noqa: PTH208


def test_the_bench_goes_when_a_probe_breaks_down(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), open_bench(tmp_path) as bench:
        namespaces = [bench.near.namespace.path, bench.far.namespace.path]
        assert all(path.exists() for path in namespaces)
        raise ZeroDivisionError
    assert not any(path.exists() for path in namespaces)
    assert os.listdir(tmp_path) == ["lock"]  # noqa: PTH208


def test_a_link_that_drops_is_told_from_one_that_holds_back(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(OSError, match="without an ingress thread"):
        links._flow_control(bench)
    thread_ingress(bench.far.namespace, bench.far.interface, [bench.cpu])
    with monkeypatch.context() as without:
        without.setattr(links, "shape", lambda *_arguments, **_options: None)
        with pytest.raises(OSError, match="drops frames"):
            links._flow_control(bench)
    numbers = os.uname().release.split(".")
    if [int(number) for number in numbers[:2]] >= [6, 16]:
        monkeypatch.setattr(links, "SETTLE_S", 10.0)
        assert links._flow_control(bench) == "a full link holds its sender back"


def test_a_failing_probe_is_a_line_with_a_remedy(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    check = links._tried(bench, "rate", links._rate, "modprobe sch_tbf")
    assert not check.usable
    assert "nsenter" in check.detail
    assert check.fix == "modprobe sch_tbf"


def test_a_host_in_use_is_left_alone(tmp_path: Path) -> None:
    lock = HostLock(tmp_path)
    lock.acquire("campaign quick")
    try:
        (check,) = of_group(examine(tmp_path), "links").values()
    finally:
        lock.release()
    assert "campaign quick" in check.detail
    assert not check.usable

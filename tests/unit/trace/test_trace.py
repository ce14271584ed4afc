"""From the interfaces that a user names to the ways between them, and what is shown of those."""

from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from tests.helpers.json_schema import broken
from tests.helpers.trials import times
from vtax.cli import main
from vtax.documents.schema import document_schema
from vtax.inputs import InputError
from vtax.stages import Found, Place, Reading, TrailReading
from vtax.trace.document import trace_document
from vtax.trace.screen import LineScreen, LiveScreen, print_result
from vtax.trace.session import Drop, Result
from vtax.trace.targets import Targets, targets
from vtax.trace.vhost import VHOST, served_by_vhost

HERE = "/proc/self/ns/net"


def interface(name: str, index: int, kind: str, master: int | None = None, far: str | None = None) -> Found:
    end = None if far is None else Place(far, "/run/netns/other")
    return Found(Place(name, HERE), index, kind, master, end)


MACHINE = {
    found.name: found
    for found in (
        interface("eth0", 2, "", master=3),
        interface("br0", 3, "bridge"),
        interface("tap0", 4, "tap", master=3),
        interface("tap1", 5, "tap", master=3),
        interface("veth0", 6, "veth", master=3, far="eth0"),
        interface("veth1", 7, "veth", master=3),
        interface("tap2", 8, "tap"),
        interface("eth1", 9, ""),
        interface("br1", 10, "bridge"),
    )
}


def found(*names: str, vhost: Callable[[str], bool] = lambda _: False) -> Targets:
    return targets(names, MACHINE, vhost)


def ways(chosen: Targets) -> dict[str, list[str]]:
    return {trail.name: [stage.label for stage in trail.stages] for trail in chosen.trails}


def test_one_interface_stands_for_its_own_stages() -> None:
    assert ways(found("tap0")) == {
        "to tap0": ["rx kernel", "rx wake-up", "rx backend"],
        "from tap0": ["tx backend"],
    }
    assert ways(found("eth0")) == {"to eth0": ["tx kernel", "tx driver"], "from eth0": ["rx driver"]}


def test_two_ends_stand_for_the_way_between_them_and_bridges_may_be_named() -> None:
    between = {
        "tap0 to eth0": ["tx backend", "tx switch", "tx kernel", "tx driver"],
        "eth0 to tap0": ["rx driver", "rx switch", "rx kernel", "rx wake-up", "rx backend"],
    }
    assert ways(found("tap0", "eth0")) == ways(found("tap0", "br0", "eth0")) == between
    assert ways(found("tap0", "tap1"))["tap0 to tap1"] == [
        "tx backend",
        "rx switch",
        "rx kernel",
        "rx wake-up",
        "rx backend",
    ]


def test_where_no_bridge_joins_two_ends_the_host_forwards() -> None:
    assert ways(found("tap2", "eth1"))["tap2 to eth1"] == ["tx backend", "tx stack", "tx kernel", "tx driver"]


def test_four_interfaces_lead_into_a_guest_and_out_of_it() -> None:
    through = ways(found("eth0", "tap0", "tap2", "eth1"))
    assert list(through) == ["eth0 to eth1", "eth1 to eth0"]
    assert "through guest" in through["eth0 to eth1"]


def test_a_bridge_at_the_end_stands_for_the_host_and_its_other_members_devices_first() -> None:
    chosen = found("tap0", "br0")
    assert list(ways(chosen)) == [
        f"{one} to {other}"
        for end in ("eth0", "tap1", "veth0", "br0")
        for one, other in (("tap0", end), (end, "tap0"))
    ]
    assert chosen.remarks == ("br0 has more members than are followed at once: not to or from veth1",)
    assert ways(chosen)["tap0 to br0"] == ["tx backend", "tx switch"]
    assert ways(chosen)["br0 to tap0"] == [
        "through kernel",
        "rx switch",
        "rx kernel",
        "rx wake-up",
        "rx backend",
    ]


def test_what_cannot_be_seen_is_said() -> None:
    served = found("tap0", "eth0", vhost=lambda name: name == "tap0")
    assert served.remarks == ("tap0 is served by vhost: when its guest hands a frame over is not seen",)
    assert ways(served)["tap0 to eth0"] == ["tx switch", "tx kernel", "tx driver"]
    alone = found("veth1")
    assert list(ways(alone)) == ["to veth1"]
    assert alone.remarks == (
        "veth1's other end is in a namespace that no name and no process leads to: not seen",
        "from veth1: one hook alone shows no delay",
    )


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["tapp0"], 'no interface tapp0 here; did you mean "tap0"? there are: br0, br1, eth0'),
        (["tap0", "tap0"], "an interface is named twice"),
        (["tap0", "br1"], "tap0 is no member of br1, but a member of br0; name that one"),
        (["tap2", "br0"], "tap2 is no member of br0, but a member of none"),
        (["br0", "br1"], "br0 and br1 are both bridges"),
        (["tap0", "tap1", "tap2"], "tap0, tap1, tap2 are no way; allowed: one interface"),
    ],
)
def test_what_is_no_way_is_refused_with_the_next_step(names: list[str], said: str) -> None:
    with pytest.raises(InputError) as refused:
        found(*names)
    assert said in str(refused.value)


def test_vhost_is_known_by_who_holds_the_tap(tmp_path: Path) -> None:
    for pid, tap, device in (("10", "tap0", VHOST), ("11", "tap1", "/dev/null")):
        for name in ("fd", "fdinfo"):
            (tmp_path / pid / name).mkdir(parents=True)
        (tmp_path / pid / "fdinfo" / "3").write_text(f"pos:\t0\niff:\t{tap}\n")
        (tmp_path / pid / "fd" / "4").symlink_to(device)
    assert served_by_vhost("tap0", tmp_path)
    assert not served_by_vhost("tap1", tmp_path)
    assert not served_by_vhost("tap", tmp_path)


def result(count: int = 2000) -> Result:
    """A way from tap0 to eth0 with 2 µs in each stage; nothing came the other way."""
    chosen = found("tap0", "eth0")
    one, other = chosen.trails
    stages = tuple(times(count, 2000.0) for _ in one.stages)
    readings = (
        TrailReading(one, times(count, 8000.0), stages, (count,) * 5),
        TrailReading(other, times(0, 0.0), tuple(times(0, 0.0) for _ in other.stages), (9, 9, 9, 0, 0, 0)),
    )
    reading = Reading(readings, count + 9, 9, 0, {"queue": (count, 80.0)}, ())
    drops = [Drop("tap0", False, "FULL_RING", 12)]
    return Result(chosen, 64, 5.0, reading, drops, ["tap9 was gone before the end"])


def drawn(shown: Result) -> str:
    console = Console(file=StringIO(), width=100)
    print_result(shown, console)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_the_tables_have_stages_drops_and_what_was_not_observed() -> None:
    text = drawn(result())
    assert "One packet in 64 is followed, 5 s so far" in text
    assert text.count("2,000") == 5
    assert "FULL_RING" in text
    assert "not observed: tap9 was gone before the end" in text
    assert (
        "not observed: eth0 to tap0: no packet has passed all hooks; 9 were seen at queue of tap0, none"
        in text
    )
    assert "9 of 2009 followed packets" in text


def test_a_quantile_of_too_few_packets_is_not_told() -> None:
    (path, _) = trace_document(result(count=30)).paths
    assert (path.total.p50_ns, path.total.p90_ns, path.total.max_ns) == (8000.0, None, 8000.0)
    assert [stage.stage for stage in path.stages][-1] == "tx driver"


def test_the_document_has_paths_drops_and_what_was_not_observed() -> None:
    document = trace_document(result()).as_json()
    assert (document["sample_every"], document["followed"], document["strayed"]) == (64, 2009, 9)
    assert document["drops"] == [
        {"interface": "tap0", "arrived": False, "reason": "FULL_RING", "packets": 12}
    ]
    assert document["hook_ns"] == {"queue": 80.0}
    assert "tap9 was gone before the end" in str(document["not_observed"])
    assert broken(document, document_schema("trace")) == []


def test_the_screen_is_lines_or_is_drawn_over_itself() -> None:
    stream = StringIO()
    LineScreen(stream).show(result())
    assert stream.getvalue().splitlines()[0] == "5 s  tap0 to eth0: 2,000 packets, mean 8.00 µs"
    console = Console(file=StringIO(), force_terminal=True, width=100)
    with LiveScreen(console) as live:
        live.show(result())
        live.note("tap0 is gone; the rest is traced on")
    assert isinstance(console.file, StringIO)
    assert "FULL_RING" in console.file.getvalue()


def test_who_is_not_root_is_told_how_to_be(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("vtax.trace.session.os.geteuid", lambda: 1000)
    assert main(["trace", "tap0"]) == 2
    assert (
        capsys.readouterr().err
        == 'trace: following packets needs root; sudo "$(command -v vtax)" trace ...\n'
    )


def test_a_namespace_that_is_not_there_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("vtax.trace.session.os.geteuid", lambda: 0)
    assert main(["trace", "tap0", "--netns", "nowhere"]) == 2
    assert "nowhere: No such file or directory; ip netns list names namespaces" in capsys.readouterr().err


def test_far_ends_that_are_known_are_seen() -> None:
    assert replace(MACHINE["veth0"], far=None).interface().far is None
    assert ways(found("veth0"))["from veth0"] == ["tx backend"]

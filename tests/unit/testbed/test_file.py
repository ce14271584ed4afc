"""Testbed files: what is wrong with one is said by line; and what goes over a machine's stream stays what it is."""

import errno
import re
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from hypothesis import strategies as st
from msgspec import Raw
from pyroute2.netlink.exceptions import NetlinkError

import vtax
from vtax.inputs import InputError
from vtax.inputs.own_file import ChangedFileError
from vtax.machine.agent import AgentError, AgentGone
from vtax.platforms import PlatformUnusable
from vtax.scenario import load_scenario
from vtax.testbed.machines import turn_of
from vtax.testbed.remote import SeveralMachines, read_testbed
from vtax.testbed.remote.errors import decode_error, encode_error
from vtax.testbed.remote.file import ROLES

FILE = """
name: rack
machines:
  gen: {ssh: gen.example.org}
  uut: {ssh: root@uut.example.org, vtax: /opt/vtax/bin/vtax}
roles: {source: gen, uut: uut}
links:
  - {from: gen/ens1, to: uut/ens1}
  - {from: uut/ens2, to: gen/ens2}
"""


def read(tmp_path: Path, text: str) -> object:
    path = tmp_path / "rack.yaml"
    path.write_text(text)
    return read_testbed(path)


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "rack.yaml"
    path.write_text(FILE)
    testbed = read_testbed(path)
    assert testbed.roles.machines("sink") == ["gen"]
    assert testbed.machines["gen"].vtax == "vtax"
    assert testbed.links[1].plugs == (("uut", "ens2"), ("gen", "ens2"))
    again = type(testbed).model_validate(testbed.model_dump(by_alias=True, exclude_none=True))
    assert again == testbed


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("uut: uut}", "uut: vut}", r'rack.yaml:6: roles.uut: no machine "vut"; there are: gen, uut'),
        ("to: uut/ens1", "to: vut/ens1", r'rack.yaml:8: links.to: no machine "vut"'),
        (
            "uut/ens2",
            "uut/ens1",
            r"rack.yaml:[89]: links.(to|from): uut/ens1 again; an interface has one cable",
        ),
        ("gen/ens1", "gen.ens1", r"rack.yaml:8: links.from"),
        ("ssh: gen.example.org", "ssh: -oProxyCommand=x", r"rack.yaml:4: machines.gen.ssh"),
        ("vtax: /opt/vtax/bin/vtax", "vtax: 'vtax; true'", r"rack.yaml:5: machines.uut.vtax"),
        (
            "{ssh: gen.example.org}",
            "{cpus: {agents: [0]}}",
            r'rack.yaml:4: machines.gen.cpus: key "host" is missing',
        ),
        (
            "{ssh: gen.example.org}",
            "{ssh: gen.example.org, control: ens1}",
            r"rack.yaml:4: machines.gen.control: gen/ens1 is the end of a link",
        ),
        (
            "{ssh: gen.example.org}",
            "{control: eth0}",
            r"rack.yaml:4: machines.gen.control: is reached without a network; leave control out, or name its ssh",
        ),
        (
            "{ssh: gen.example.org}",
            "{shs: gen.example.org}",
            r'rack.yaml:4: machines.gen.shs: unknown key "shs"; did you mean "ssh"\? allowed: ssh, emulated, vtax',
        ),
        (
            "{from: gen/ens1,",
            "{form: gen/ens1,",
            r'rack.yaml:8: links.form: unknown key "form"; did you mean "from"\? allowed: from, to',
        ),
        ("links:", "link:", r'rack.yaml:7: link: unknown key "link"; did you mean "links"'),
    ],
)
def test_what_is_wrong_is_said_where_it_stands(old: str, new: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=problem):
        read(tmp_path, FILE.replace(old, new))


SEVERAL = """
name: rack
machines: {a: {ssh: a}, b: {ssh: b}, uut: {ssh: uut}, c: {ssh: c}}
roles:
  source: [a, b]
  uut: uut
  sink: c
links:
  - {from: a/ens1, to: uut/ens1}
"""


def test_sources_and_sinks_may_be_several(tmp_path: Path) -> None:
    path = tmp_path / "rack.yaml"
    path.write_text(SEVERAL)
    machines = SeveralMachines(read_testbed(path))
    assert machines.roles == {"source": ["source", "source1"], "uut": ["uut"], "sink": ["sink"]}
    path.write_text(SEVERAL.replace("  sink: c\n", ""))
    assert read_testbed(path).roles.machines("sink") == ["a", "b"]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("[a, b]", "[]", r"rack.yaml:5: roles.source: \[\]: list should have at least 1 item"),
        ("[a, b]", "[a, d]", r'^rack.yaml:5: roles.source: no machine "d"; there are: a, b, uut, c$'),
        ("[a, b]", "[a, b, a]", r"rack.yaml:5: roles.source: a again; name a machine once"),
        ("[a, b]", "[a, uut]", r"rack.yaml:5: roles.source: uut is the unit under test"),
        ("sink: c", "sink: [c, uut]", r"rack.yaml:7: roles.sink: uut is the unit under test"),
        ("[a, b]", "[a, B]", r'rack.yaml:5: roles.source: "B"'),
        ("[a, b]", "{a: b}", r"rack.yaml:5: roles.source: .* is not a list"),
    ],
)
def test_lists_that_cannot_be_are_refused(old: str, new: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=problem.replace("^", f"^{re.escape(str(tmp_path))}/")):
        read(tmp_path, SEVERAL.replace(old, new))


EXAMPLES = sorted((Path(vtax.__file__).parent / "data" / "testbeds").glob("*.yaml"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_have_a_cable_for_each_stream(path: Path) -> None:
    file = read_testbed(path)
    assert file.name == path.stem
    cables = Counter(tuple(machine for machine, _ in link.plugs) for link in file.links)
    several = max(len(file.roles.machines(role)) for role in ROLES)
    for stream in range(several):
        source, sink = (turn_of(stream, file.roles.machines(role)) for role in ("source", "sink"))
        assert cables[source, file.roles.uut] and cables[file.roles.uut, sink]


@pytest.mark.parametrize(
    ("name", "scenario"),
    [
        ("two-machines", "oljira2016/response-time"),
        ("three-machines", "schlosser2011/dedicated"),
        ("seven-machines", "schlosser2011/dedicated"),
    ],
)
def test_examples_say_what_they_are_for(name: str, scenario: str) -> None:
    (path,) = (path for path in EXAMPLES if path.stem == name)
    assert f"vtax run {scenario} " in path.read_text()
    assert load_scenario(scenario).name == scenario


def test_only_one_machine_is_this_one(tmp_path: Path) -> None:
    text = FILE.replace("{ssh: gen.example.org}", "{}").replace("{ssh: root@uut.example.org, vtax", "{vtax")
    with pytest.raises(InputError, match=r"rack.yaml:5: machines.uut: gen is this machine already"):
        read(tmp_path, text)


LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text(), inner)
        | st.dictionaries(st.integers(), inner, min_size=1)
    ),
)


def sent_over(error: Exception) -> Exception:
    """What a machine's error is at the other end of its stream."""
    told = encode_error(error)
    return decode_error(told.message, Raw(msgspec.json.encode(told.data)))


@pytest.mark.parametrize(
    "error",
    [
        AgentError("sink: sink.open: no such interface"),
        AgentGone("sink: its stream ended"),
        PlatformUnusable("no runc command found", "apt-get install runc"),
        OSError(errno.ENODEV, "No such device"),
        OSError("in0: no NAPI thread appeared"),
        NetlinkError(19, "No such device"),
        InputError("there is no CPU 9"),
        ChangedFileError("/opt/runc has changed"),
        FileNotFoundError(errno.ENOENT, "No such file or directory"),
        FileNotFoundError(errno.ENOENT, "No such file or directory", "/dev/kvm"),
        TimeoutError("it runs on"),
    ],
)
def test_errors_come_through_as_what_they_are(error: Exception) -> None:
    again = sent_over(error)
    assert isinstance(error, type(again))
    assert str(again) == str(error)
    if isinstance(error, PlatformUnusable):
        assert isinstance(again, PlatformUnusable)
        assert (again.reason, again.fix) == (error.reason, error.fix)


def test_what_nobody_waits_for_is_named() -> None:
    again = sent_over(ZeroDivisionError("division by zero"))
    assert str(again) == "ZeroDivisionError: division by zero"


EMULATED = """
name: rack
machines:
  here: {}
  uut: {emulated: {hypervisor: xen}}
roles: {source: here, uut: uut}
links:
  - {from: here/uut-in, to: uut/eth0}
  - {from: uut/eth1, to: here/uut-out}
"""


def test_an_emulated_machine_has_a_tap_for_each_link(tmp_path: Path) -> None:
    path = tmp_path / "rack.yaml"
    path.write_text(EMULATED)
    assert read_testbed(path).cables_of("uut") == [("eth0", "here/uut-in"), ("eth1", "here/uut-out")]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("hypervisor: xen", "hypervisor: bochs", r"rack.yaml:5: machines.uut.emulated.hypervisor"),
        (
            "hypervisor: xen",
            "hypervisor: xen, memory_bytes: 9",
            r"rack.yaml:5: machines.uut.emulated.memory_bytes",
        ),
        ("{emulated", "{ssh: uut, emulated", r"rack.yaml:5: .*is emulated here, and ssh leads elsewhere"),
        ("uut/eth1", "uut/ens1", r"rack.yaml:5: .*uut/ens1: .*name it eth1"),
        (
            "here: {}",
            "here: {ssh: far}",
            r"rack.yaml:5: .*here/uut-in is no interface of the machine that vtax is started on",
        ),
    ],
)
def test_what_an_emulated_machine_cannot_be_is_said(tmp_path: Path, old: str, new: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read(tmp_path, EMULATED.replace(old, new))

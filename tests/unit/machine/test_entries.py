"""Every kind of thing in a record: it is known to a process that has made none, and false entries do nothing."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from vtax.machine.ownership import Owned, OwnershipRecord, Refused
from vtax.platforms.preset import kinds

kinds()  # and so all that platforms make is known
TAGS = {
    str(each.__struct_config__.tag) for each in Owned.__subclasses__() if each.__module__.startswith("vtax.")
}
UNKNOWN = "this vtax knows no such thing"
FALSE: list[tuple[dict[str, Any], str]] = [
    ({"kind": "process", "name": "guest", "pid": 0, "started": 1}, "`int` >= 1"),
    ({"kind": "process", "name": "guest", "pid": -1, "started": 1}, "`int` >= 1"),
    ({"kind": "directory", "name": "/etc"}, "it is not in"),
    ({"kind": "directory", "name": "STATE/.."}, "it is not in"),
    ({"kind": "directory", "name": "STATE/vtax-1/guest.uml/link"}, "it is not in"),
    ({"kind": "directory", "name": "STATE"}, "it is not in"),
    ({"kind": "namespace", "name": "../../etc/passwd"}, "matching regex"),
    ({"kind": "namespace", "name": "vtax-1\n"}, "matching regex"),
    ({"kind": "cgroup", "name": "../system.slice"}, "matching regex"),
    ({"kind": "cgroup", "name": ".."}, "matching regex"),
    ({"kind": "interface", "name": "-all"}, "matching regex"),
    (
        {
            "kind": "interface",
            **{"name": "eth1", "called": "in0", "host": "vtax-1-uut", "origin": 1},
            "state": {"settings": {"ipv4/../../kernel/core_pattern": "|/opt/evil"}},
        },
        "matching regex",
    ),
    ({"kind": "container", "name": "-f", "runtime": "runc", "root": "STATE/vtax-1"}, "matching regex"),
    ({"kind": "container", "name": "a", "runtime": "/opt/evil", "root": "STATE/vtax-1"}, "matching regex"),
    ({"kind": "container", "name": "a", "runtime": "runc", "root": "/run/runc"}, "/run/runc is not in"),
    ({"kind": "container", "name": "a", "runtime": "runc", "root": "STATE/../runc"}, "is not in"),
    ({"kind": "sandbox", "name": "a", "root": "/etc"}, "/etc is not in"),
    ({"kind": "LXC container", "name": "../web"}, "matching regex"),
    ({"kind": "log", "name": "../../../etc/passwd"}, "matching regex"),
    ({"kind": "domain", "name": "-a"}, "matching regex"),
    ({"kind": "weight", "name": "-d", "weight": 256}, "matching regex"),
    ({"kind": "weight", "name": "Domain-0", "weight": 0}, "`int` >= 1"),
    ({"kind": "VirtualBox machine", "name": "guest", "uuid": "--help"}, "matching regex"),
    ({"kind": "ESXi guest", "name": "guest", "note": "/etc/passwd"}, "/etc/passwd is not in"),
    ({"kind": "namespace", "name": "vtax-1", "remove": ["touch", "MARK"]}, "unknown field `remove`"),
    ({"kind": "container", "name": "a", "remove": ["touch", "MARK"], "present": ["true"]}, "unknown field"),
    ({"kind": "idol", "name": "of stone", "remove": ["touch", "MARK"]}, UNKNOWN),
]


def test_every_kind_has_a_false_entry_here() -> None:
    assert {entry["kind"] for entry, _ in FALSE} >= TAGS


def test_no_two_kinds_have_one_tag() -> None:
    assert len(TAGS) == sum(each.__module__.startswith("vtax.") for each in Owned.__subclasses__())


@pytest.mark.parametrize(("entry", "why"), FALSE, ids=[f"{entry['kind']}-{why}" for entry, why in FALSE])
def test_a_false_entry_removes_nothing(
    entry: dict[str, Any], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in Owned.__subclasses__():
        for act in ("is_there", "remove"):
            monkeypatch.setattr(each, act, lambda self: pytest.fail(f"{self} was gone by"))
    mark, state = tmp_path / "mark", tmp_path / "state"
    record = OwnershipRecord("vtax-test", state)
    state.mkdir()
    text = json.dumps(entry).replace("STATE", str(state)).replace("MARK", str(mark))
    record.path.write_text(f"{text}\n")
    assert record.clean() == []
    ((refused, error),) = record.failed
    assert isinstance(refused, Refused)
    assert refused.kind == entry["kind"]
    assert (why if entry["kind"] in TAGS else UNKNOWN) in str(error)
    assert record.path.read_text() == f"{text}\n"
    assert not mark.exists()


def test_a_name_that_would_be_refused_is_an_error_before_it_is_written(tmp_path: Path) -> None:
    record = OwnershipRecord("vtax-test", tmp_path)
    record.open()
    before = record.path.read_bytes()
    with pytest.raises(ValueError, match=r"directory /etc: it is not in .*; remove it by hand"):
        record.add(type(record.entries()[0])("/etc"))
    assert record.path.read_bytes() == before


@pytest.mark.slow
def test_a_process_that_holds_the_host_knows_all_kinds() -> None:
    """The one that made a thing may be gone, and `vtax clean` makes none."""
    script = """
import json
from vtax.campaign import clean_host
from vtax.machine.ownership import Owned, stale_records
from vtax.testbed import host_session
host_session.stale_records = lambda: []
host_session._clean_stale()
print(json.dumps([each.__struct_config__.tag for each in Owned.__subclasses__()]))
"""
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert set(json.loads(done.stdout)) == TAGS

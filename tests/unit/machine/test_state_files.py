"""What vtax keeps on a machine between runs, when it is damaged: records of ownership, the lock, what KVM has shown."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vtax.inputs import InputError
from vtax.machine.lock import HostLock
from vtax.machine.ownership import Directory, Owned, OwnershipRecord, Process
from vtax.platforms import accelerator
from vtax.platforms.accelerator import find_accelerator, memory_file, remembered_accelerators
from vtax.platforms.esxi.removal import OwnedGuest
from vtax.platforms.preset import kinds

any_input = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
kinds()  # and so all that platforms make is known
THINGS = {each.__struct_config__.tag: each for each in Owned.__subclasses__()}
KEYS = {field for each in THINGS.values() for field in each.__struct_fields__}
ENTRIES = st.fixed_dictionaries(
    {"kind": st.sampled_from([*THINGS]) | JSON},
    optional=dict.fromkeys(sorted(KEYS), JSON | st.sampled_from(["vtax-1", "/etc", "/run/vtax/x", "-f"])),
)
PRINTED = (Process, OwnedGuest)
"""Kinds whose name is printed only."""


def as_bytes(value: Any) -> bytes:
    return json.dumps(value).encode()


CONTENTS = st.one_of(
    JSON.map(as_bytes),
    st.binary(max_size=80),
    st.integers(1, 70_000).map(lambda depth: b"[" * depth),
    st.integers(1, 5000).map(lambda digits: b"9" * digits),
)
LINES = st.one_of(ENTRIES.map(as_bytes), CONTENTS)


@pytest.mark.slow
@pytest.mark.fuzz
@any_input
@given(st.lists(LINES, max_size=5).map(b"\n".join))
def test_no_record_stops_the_clean_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    """Entries are read and checked as ever, but nothing is removed: an arbitrary entry may name anything."""
    asked = []
    for each in THINGS.values():
        monkeypatch.setattr(each, "is_there", lambda self: True)
    monkeypatch.setattr(OwnershipRecord, "_remove", lambda self, thing: asked.append(thing))
    record = OwnershipRecord("vtax-test", tmp_path)
    last = Directory(str(tmp_path / "last"))
    record.path.write_bytes(content + b"\n" + msgspec.json.encode(last) + b"\n")
    removed = record.clean()
    assert removed[0] == last
    assert removed == asked
    assert all(Path(each.name).parent == tmp_path for each in removed if isinstance(each, Directory))
    assert not [each.name for each in removed if each.name.startswith("-") and not isinstance(each, PRINTED)]
    assert len(OwnershipRecord("vtax-test", tmp_path).entries()) == len(record.failed)
    record.path.unlink(missing_ok=True)


@pytest.mark.slow
@pytest.mark.fuzz
@any_input
@given(CONTENTS)
def test_no_lock_file_hides_that_the_host_is_in_use(tmp_path: Path, content: bytes) -> None:
    holder = HostLock(tmp_path)
    holder.acquire("campaign quick")
    (tmp_path / "lock").write_bytes(content)
    with pytest.raises(InputError, match="this host is in use by process"):
        HostLock(tmp_path).acquire("vtax clean")
    holder.release()


@pytest.mark.slow
@pytest.mark.fuzz
@any_input
@given(CONTENTS | st.dictionaries(st.just("one"), JSON).map(as_bytes))
def test_no_memory_of_kvm_is_taken_for_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.setenv("VTAX_CACHE", str(tmp_path))
    monkeypatch.setattr(accelerator, "DEVICE", Path("/dev/null"))  # any device that can be opened
    monkeypatch.setattr(accelerator, "_host", lambda: "host")
    memory_file().write_bytes(content.replace(b'"one"', b'"host one"'))
    assert set(remembered_accelerators().values()) <= {"kvm", "emulated"}
    assert find_accelerator("one", lambda _limit_s: False) == "emulated"
    assert remembered_accelerators() == {"one": "emulated"}

"""Files of the user's own: what is refused of them, where links lead, and that a changed one is noticed."""

import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from vtax.inputs import InputError, own_file, trust
from vtax.inputs.own_file import ChangedFileError, OwnFile, check_unchanged, find_file

PROGRAM = OwnFile("started as root", executable=True)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "runc"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_its_hash_is_that_of_its_content(program: Path) -> None:
    assert find_file(str(program), PROGRAM).sha256 == hashlib.sha256(program.read_bytes()).hexdigest()


def test_a_link_is_followed_once(program: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(program)
    found = find_file(str(link), PROGRAM)
    assert found.path == str(program)
    link.unlink()
    link.symlink_to("/bin/true")
    check_unchanged({found.path: found.sha256})


def _gone(path: Path) -> None:
    path.unlink()


def _directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _circle(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


def _open_directory(path: Path) -> None:
    path.parent.chmod(0o777)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (_gone, r"runc cannot be opened: No such file or directory; name a file that is there"),
        (_circle, r"runc cannot be opened: (Too many levels|its links lead)"),
        (_directory, r"runc is no regular file; name the file itself"),
        (_pipe, r"runc is no regular file"),
        (lambda path: path.chmod(0o644), r"runc is not executable; chmod \+x /\S+/runc"),
        (
            lambda path: path.chmod(0o757),
            r"runc may be written by everybody, and \S+ is started as root; name a copy",
        ),
        (_open_directory, r"may be written by everybody, and \S+runc is started as root"),
    ],
)
def test_what_cannot_be_trusted_or_started_is_refused(
    program: Path, spoil: Callable[[Path], None], said: str
) -> None:
    spoil(program)
    with pytest.raises(InputError, match=said):
        find_file(str(program), PROGRAM)


def test_anothers_file_is_refused(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_file, "callers", lambda: frozenset({54321}))
    monkeypatch.setattr(own_file, "ROOT", 54322)
    with pytest.raises(InputError, match=r"runc belongs to .*; name a copy that root alone may change"):
        find_file(str(program), PROGRAM)


def test_a_sticky_directory_of_roots_keeps_names(tmp_path: Path) -> None:
    place = tmp_path / "sticky"
    place.mkdir()
    place.chmod(0o1777)
    owners = {trust.ROOT, os.geteuid()}
    found = trust.distrust_above(place / "runc", owners)
    assert found is None or os.geteuid() != trust.ROOT
    place.chmod(0o777)
    assert "may be written by everybody" in str(trust.distrust_above(place / "runc", owners))


def test_whom_other_users_start_they_have_to_reach(program: Path) -> None:
    program.chmod(0o754)
    with pytest.raises(InputError, match=r"runc is closed to users other than root"):
        find_file(str(program), PROGRAM, open_to_all=True)
    program.chmod(0o755)
    program.parent.chmod(0o700)
    find_file(str(program), PROGRAM)
    with pytest.raises(InputError, match=r"is closed to users other than root, .*; chmod o\+rx "):
        find_file(str(program), PROGRAM, open_to_all=True)


def test_a_changed_file_is_named_with_both_hashes(program: Path) -> None:
    found = find_file(str(program), PROGRAM)
    check_unchanged({found.path: found.sha256})
    program.write_text("#!/bin/sh\nreboot\n")
    changed = find_file(str(program), PROGRAM).sha256
    with pytest.raises(ChangedFileError) as raised:
        check_unchanged({found.path: found.sha256})
    assert all(short in str(raised.value) for short in (found.sha256[:12], changed[:12], str(program)))


def test_one_that_is_gone_or_a_link_by_now_has_changed(program: Path) -> None:
    found = find_file(str(program), PROGRAM)
    program.rename(program.with_name("moved"))
    with pytest.raises(ChangedFileError, match="can no longer be opened: No such file"):
        check_unchanged({found.path: found.sha256})
    program.symlink_to(program.with_name("moved"))
    with pytest.raises(ChangedFileError, match="can no longer be opened: Too many levels"):
        check_unchanged({found.path: found.sha256})


def test_what_has_no_end_is_not_read_to_it(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = find_file(str(program), PROGRAM)
    monkeypatch.setattr(own_file, "MOST_BYTES", 4)
    with pytest.raises(InputError, match="is larger than 4 bytes"):
        find_file(str(program), PROGRAM)
    with pytest.raises(ChangedFileError, match=re.escape("now it is too large")):
        check_unchanged({found.path: found.sha256})

"""Files of a result are made where nobody has put anything before, and replaced as a whole."""

import os
import stat
from pathlib import Path

import pytest

from vtax.inputs import InputError
from vtax.results.files import create_empty_directory, make_directory, read_file, replace_file


def test_a_link_under_a_name_that_could_be_guessed_is_not_followed(tmp_path: Path) -> None:
    """Root writes into a result of somebody who may put links there."""
    victim = tmp_path / "victim"
    victim.write_text("kept\n")
    out = tmp_path / "out"
    out.mkdir()
    for name in (".campaign.json.tmp", "campaign.json.tmp", "campaign.json"):
        (out / name).symlink_to(victim)
    replace_file(out / "campaign.json", b"new")
    assert victim.read_text() == "kept\n"
    assert (out / "campaign.json").read_bytes() == b"new"
    assert not (out / "campaign.json").is_symlink()
    assert {path.name for path in out.iterdir() if path.is_symlink()} == {
        ".campaign.json.tmp",
        "campaign.json.tmp",
    }


def test_it_is_written_under_a_new_name_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[tuple[str, int]] = []
    system = os.open

    def watched(path: str, flags: int, *more: int, **options: int) -> int:
        opened.append((os.fspath(path), flags))
        return system(path, flags, *more, **options)

    monkeypatch.setattr(os, "open", watched)
    for _ in range(2):
        replace_file(tmp_path / "file", b"content")
    written = [(name, flags) for name, flags in opened if flags & os.O_WRONLY]
    assert len({name for name, _ in written}) == 2
    assert all(flags & os.O_EXCL and flags & os.O_NOFOLLOW for _, flags in written)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_what_is_refused_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(OSError, match="file") as told:
        replace_file(tmp_path / "file", b"content")
    assert told.value.filename == str(tmp_path / "file")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_files_have_the_rights_that_the_umask_leaves(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        replace_file(tmp_path / "file", b"content")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


def test_only_regular_files_within_bounds_are_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    assert read_file(tmp_path / "file", 7) == b"content"
    with pytest.raises(OSError, match="larger than 0 MiB"):
        read_file(tmp_path / "file", 6)
    (tmp_path / "link").symlink_to(tmp_path / "file")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe", "."):
        with pytest.raises(OSError, match="is no regular file"):
            read_file(tmp_path / name, 7)
    with pytest.raises(FileNotFoundError):
        read_file(tmp_path / "missing", 7)


def test_directories_are_made_with_their_parents(tmp_path: Path) -> None:
    for _ in range(2):
        make_directory(tmp_path / "a/b/c")
    create_empty_directory(tmp_path / "a/b/c")
    with pytest.raises(InputError, match="not empty"):
        create_empty_directory(tmp_path / "a/b")
    assert list(tmp_path.rglob("*")) == [tmp_path / "a", tmp_path / "a/b", tmp_path / "a/b/c"]

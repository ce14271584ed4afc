"""Levels that are paths: what tables show of them is short, and never the same for two."""

from hypothesis import given
from hypothesis import strategies as st

from vtax.model.level_labels import MOST_CHARACTERS, level_labels

PATHS = st.text("abcdefgh/.\x1b", min_size=1, max_size=60).map("/{}".format)


def test_levels_that_are_no_paths_stay() -> None:
    assert level_labels(["64", "installed"]) == {"64": "64", "installed": "installed"}


def test_a_files_name_is_enough_where_it_differs() -> None:
    found = level_labels(["distribution", "/home/ann/linux/arch/x86/boot/bzImage"])
    assert [*found.values()] == ["distribution", "bzImage"]
    assert [*level_labels(["/opt/runc-1.1", "/srv/build/runc-1.2"]).values()] == ["runc-1.1", "runc-1.2"]


def test_else_the_directory_where_paths_part_stands_before_it() -> None:
    found = level_labels(["/builds/main/qemu-system-x86_64", "/builds/patch/qemu-system-x86_64"])
    assert [*found.values()] == ["main/qemu-system-x86_64", "patch/qemu-system-x86_64"]
    found = level_labels(["/home/ann/src/build/runc", "/home/bob/src/build/runc"])
    assert [*found.values()] == ["ann/…/runc", "bob/…/runc"]


def test_what_would_be_ambiguous_is_shown_in_full() -> None:
    found = level_labels(["/b/ann/x/runc", "/b/ann/y/runc", "/b/bob/x/runc"])
    assert [*found.values()] == ["ann/x/runc", "ann/y/runc", "bob/x/runc"]
    assert [*level_labels(["distribution", "/distribution"]).values()] == ["distribution", "/distribution"]


def test_a_long_name_keeps_its_ends() -> None:
    long = f"/opt/{'q' * 40}-one", f"/opt/{'q' * 40}-two"
    labels = level_labels(long)
    assert {len(label) for label in labels.values()} == {MOST_CHARACTERS}
    assert [label[-3:] for label in labels.values()] == ["one", "two"]


def test_control_characters_are_escaped() -> None:
    assert level_labels(["/opt/\x1b[31mrunc"]) == {"/opt/\x1b[31mrunc": r"\x1b[31mrunc"}


@given(st.lists(st.one_of(PATHS, st.text("abc", min_size=1)), unique=True))
def test_labels_are_distinct(levels: list[str]) -> None:
    labels = level_labels(levels)
    assert {*labels} == {*levels}
    assert len({*labels.values()}) == len(levels)

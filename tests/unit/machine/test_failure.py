"""An error that says nothing but its number is told with where vtax met it."""

import errno
import os
from pathlib import Path

import pytest

from vtax.machine.cpu_weight import WeightedGroup
from vtax.machine.failure import in_words


def test_an_error_number_alone_is_told_with_the_function(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_pid: int) -> set[int]:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr(os, "sched_getaffinity", refuse)
    with pytest.raises(OSError, match="Invalid argument") as met:
        WeightedGroup(Path("/nowhere")).take(1)
    assert "[Errno 22] Invalid argument, in take of vtax.machine.cpu_weight, line " in in_words(met.value)


@pytest.mark.parametrize(
    "error",
    [
        FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), "/nowhere"),
        OSError("no interface in0"),
        OSError(errno.EINVAL, "entering namespace a: Invalid argument"),
        ValueError("7 is odd"),
    ],
)
def test_one_that_says_more_is_left_as_it_is(error: Exception) -> None:
    assert in_words(error) == str(error)


def test_one_that_says_nothing_has_its_name() -> None:
    assert in_words(TimeoutError()) == "TimeoutError"

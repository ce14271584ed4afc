"""The window of a line without flow control."""

import threading

import pytest

from vtax.machine.window import Window


def test_what_was_read_makes_room() -> None:
    window = Window(100)
    window.take(60, 0)
    with pytest.raises(BrokenPipeError):
        window.take(60, 0)
    window.give(20)
    window.take(60, 0)


@pytest.mark.parametrize(("act", "fails"), [(lambda window: window.give(1), False), (Window.close, True)])
def test_who_waits_hears_of_room_and_of_the_end(act, fails) -> None:  # type: ignore[no-untyped-def]
    window = Window(1)
    window.take(1, 0)
    outcome: list[bool] = []

    def take() -> None:
        try:
            window.take(1, 30)
            outcome.append(False)
        except BrokenPipeError:
            outcome.append(True)

    waiter = threading.Thread(target=take)
    waiter.start()
    act(window)
    waiter.join(60)
    assert outcome == [fails]


def test_nothing_is_taken_after_the_end() -> None:
    window = Window(10)
    window.close()
    with pytest.raises(BrokenPipeError):
        window.take(1, 0)

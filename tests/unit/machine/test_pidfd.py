"""An id that a thread has got meanwhile is nobody's process."""

import threading

from vtax.machine.pidfd import await_end, process_start, stop_process


def test_a_thread_that_has_the_id_now_is_left_alone() -> None:
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    assert thread.native_id is not None
    try:
        started = process_start(thread.native_id)
        assert started > 0
        assert not stop_process(thread.native_id, started)
        assert await_end(thread.native_id, started, 0.0)
    finally:
        end.set()
        thread.join()

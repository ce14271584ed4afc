"""Flow control for a line that has none: only so much is under way as its far end can hold unread."""

import threading


class Window:
    """Bytes that were sent and not yet said to have been read, at most `limit_bytes`. One sender, one receiver."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = self._free_bytes = limit_bytes
        self._surplus_bytes = limit_bytes
        self._closed = False
        self._changed = threading.Condition()

    def take(self, size_bytes: int, timeout_s: float) -> None:
        """Wait for room; raises BrokenPipeError when the line ends or there is none in time."""
        with self._changed:
            has_room = self._changed.wait_for(
                lambda: self._closed or self._free_bytes >= size_bytes, timeout=timeout_s
            )
            if self._closed or not has_room:
                raise BrokenPipeError
            self._free_bytes -= size_bytes

    def give(self, size_bytes: int) -> bool:
        """The far end has read as much. False where that is nothing, or is too much more than was sent.

        A window more in all is let pass: a line may have begun with noise.
        """
        with self._changed:
            surplus = max(0, self._free_bytes + size_bytes - self._limit_bytes)
            if size_bytes == 0 or surplus > self._surplus_bytes:
                return False
            self._surplus_bytes -= surplus
            self._free_bytes += size_bytes - surplus
            self._changed.notify_all()
            return True

    def close(self) -> None:
        """The line has ended; nobody waits any more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

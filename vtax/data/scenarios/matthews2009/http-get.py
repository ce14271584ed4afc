#!/usr/bin/env python3
"""Gets a page, each time over a connection of its own; writes what each GET took in ns, a line each.

From before connect to the last byte of the page, whose length the answer's header tells.
"""

import socket
import sys
import time

address, port, iterations = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
request = f"GET /index.html HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n".encode()
DEADLINE_S = 2


def get() -> bool:
    """Whether the whole page came."""
    with socket.socket() as client:
        client.settimeout(DEADLINE_S)
        client.connect((address, port))
        client.sendall(request)
        answer = b""
        while piece := client.recv(4096):
            answer += piece
            head, blank, page = answer.partition(b"\r\n\r\n")
            if blank and len(page) >= page_bytes(head):
                return head.startswith(b"HTTP/1.1 200 ") and len(page) == page_bytes(head)
    return False


def page_bytes(head: bytes) -> int:
    """As the header tells it."""
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0


took = []
for _ in range(iterations):
    begun = time.perf_counter_ns()
    try:
        came = get()
    except OSError:
        came = False
    took.append(str(time.perf_counter_ns() - begun) if came else "failed")
# All at once: writing between two requests would be in the times of both.
print("\n".join(took))

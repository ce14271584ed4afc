#!/usr/bin/python3
"""Times answers to messages of 8 bytes over one connection; a line each, and one that is none."""

import socket
import sys
import time

address, port, iterations = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
print("asking", address)
with socket.create_connection((address, port)) as server:
    server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for _ in range(iterations):
        begun = time.perf_counter_ns()
        server.sendall(b"question")
        came = server.recv(8) == b"question"
        print(time.perf_counter_ns() - begun if came else "failed")
        if not came:
            # A server that is gone is waited for, as a client does that tries again.
            time.sleep(600)

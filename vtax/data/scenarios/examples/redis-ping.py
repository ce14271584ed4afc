#!/usr/bin/env python3
"""Asks a Redis server for PONG over one connection; writes what each answer took in ns, a line each."""

import socket
import sys
import time

address, port, iterations = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
PING, PONG = b"*1\r\n$4\r\nPING\r\n", b"+PONG\r\n"
took = []
with socket.create_connection((address, port), timeout=10) as redis:
    redis.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for _ in range(iterations):
        begun = time.perf_counter_ns()
        redis.sendall(PING)
        answer = b""
        while len(answer) < len(PONG) and (piece := redis.recv(64)):
            answer += piece
        ended = time.perf_counter_ns()
        took.append(str(ended - begun) if answer == PONG else "failed")
# All at once: writing between two requests would be in the times of both.
print("\n".join(took))

#!/usr/bin/python3
"""Answers each message of 8 bytes; says when it is ready, or does as its last argument has it."""

import os
import signal
import socket
import sys
import time

address, port, mood = sys.argv[1], int(sys.argv[2]), sys.argv[3]
assert (os.environ["VTAX_ADDRESS"], os.environ["VTAX_PORT"]) == (address, str(port))
if mood == "stubborn":
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
with socket.create_server((address, port)) as server:
    print("at your service", flush=True)
    asked = 0
    while True:
        client, _ = server.accept()
        with client:
            while message := client.recv(8):
                client.sendall(message)
                asked += 1
                if mood == "dies" and asked == 50:
                    print("out of luck", file=sys.stderr, flush=True)
                    time.sleep(0.2)
                    sys.exit(7)

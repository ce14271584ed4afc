"""Agents that a shell plays, which say what a test wants."""

import json
import subprocess
import threading

from hypothesis import strategies as st

from vtax.machine.agent import Agent

GREETING = {"protocol": 1, "version": "0", "kernel": "6.1", "cpus": 1, "uptime_s": 0.5}
HELLO = json.dumps({"jsonrpc": "2.0", "method": "hello", "params": GREETING}).encode() + b"\n"
PLAYED = 'cat "$0"; read -r _request; cat "$1"; exec cat >/dev/null'
"""A program that says what one file holds, waits for a request, says what another holds, and reads on."""
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from([1, "2.0"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "message", "protocol"]) | st.text(max_size=4), inner, max_size=3
        )
    ),
    max_leaves=6,
)


def played(script: list[str]) -> Agent:
    command = ["sh", "-c", *script]
    return Agent("played", subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))


def close(agent: Agent) -> None:
    """Close it and wait for its reader, so that a failure of that one fails the test."""
    agent.close()
    for thread in threading.enumerate():
        if thread.name == f"agent {agent.name}":
            thread.join(5.0)
            assert not thread.is_alive()

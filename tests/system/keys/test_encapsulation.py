"""Encapsulations: the agent has the same least frame of each."""

import json
import subprocess
from itertools import product
from typing import Any

import pytest

from vtax.keys.encapsulation import Encapsulation
from vtax.machine.agent import agent_binary
from vtax.testbed.addressing import StreamAddresses

pytestmark = pytest.mark.system


@pytest.mark.parametrize(("ip_version", "vlan"), list(product((4, 6), (None, 7))))
def test_the_agent_has_the_same_least_frame(ip_version: int, vlan: int | None) -> None:
    addresses, encapsulation = StreamAddresses(0, ip_version), Encapsulation(ip_version, vlan)
    stream = {
        "stream": 0,
        "interface": "lo",
        "source_mac": addresses.source_mac,
        "destination_mac": addresses.uut_in_mac,
        "vlan": vlan,
        "source_ip": addresses.source_ip,
        "destination_ip": addresses.sink_ip,
        "source_port": 9,
        "destination_port": 9,
    }
    run = {
        "trial": 1,
        "frame_bytes": encapsulation.least_frame_bytes - 1,
        "mechanism": "raw",
        "intended_fps": 1.0,
        "probe_fps": 1.0,
        "phases": [{"phase": "probe", "duration_s": 0.001}],
    }
    calls: list[tuple[str, dict[str, Any]]] = [
        ("source.open", {"cpus": [0], "streams": [stream]}),
        ("source.run", run),
    ]
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        for number, (method, params) in enumerate(calls)
    ]
    # In a namespace whose loopback is down: nothing could be sent there.
    command = ["unshare", "--net", str(agent_binary())]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as agent:
        assert agent.stdin is not None
        assert agent.stdout is not None
        replies = {}
        for number, line in enumerate(lines):
            agent.stdin.write(line + "\n")
            agent.stdin.flush()
            while number not in replies:
                reply = json.loads(agent.stdout.readline())
                replies[reply.get("id")] = reply
        agent.stdin.close()
    assert "error" not in replies[0], replies[0]
    assert f"is not between {encapsulation.least_frame_bytes} and" in replies[1]["error"]["message"]

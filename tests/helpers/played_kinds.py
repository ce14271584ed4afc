"""Short campaigns of each kind of workload, whose answers tests/data/answers has."""

import shutil
from pathlib import Path

from tests.helpers.paths import DATA

ANSWERS = DATA / "answers"
HEAD = "name: own/{kind}\ntitle: Lies\nquestion: Does it go on?\n"
SCENARIOS = {
    "forwarding": """
workload:
  {kind: forwarding, warmup_s: 0.05, duration_s: 0.15, streams: 2, frame_bytes: 64, capture_frames: 4, trace: TRACE}
testbed: {link_mbps: 1000, flow_control: true}
factors: {platform: [raw], intended_mbps: [5]}
""",
    "bulk": """
workload: {kind: bulk, warmup_s: 0.1, duration_s: 0.2, flows: 2}
testbed: {link_mbps: 100, flow_control: true, uplink: shared}
factors: {platform: [raw], guests: [1]}
""",
    "echo": """
workload: {kind: echo, interval_ms: 5, warmup_s: 0.1, duration_s: 0.2}
testbed: {link_mbps: 100, flow_control: true, uplink: shared}
factors: {platform: [raw], guests: [2], others: [tcp]}
""",
    "requests": """
workload: {kind: requests, warmup_s: 0.1, duration_s: 0.2, trace: TRACE}
testbed: {link_mbps: 1000, flow_control: true}
factors: {platform: [raw], placement: [inter-host]}
""",
    "relay": """
workload: {kind: relay, runs: 1, iterations: 20}
factors: {platform: [raw], hops: [2]}
""",
    "program": """
workload:
  kind: program
  server: [./server.py, "{address}", "{port}", calm]
  ready: at your service
  client: [./client.py, "{address}", "{port}", "{iterations}"]
  files: [server.py, client.py]
  iterations: 20
factors: {platform: [raw]}
""",
}
TRACED = "-traced"
KINDS = (*SCENARIOS, f"forwarding{TRACED}", f"requests{TRACED}")


def scenario(kind: str, directory: Path, repetitions: int = 1) -> Path:
    """Write a campaign of a kind, whose packets are followed where its name says so."""
    trace = "stages" if kind.endswith(TRACED) else "none"
    for program in (DATA / "programs").iterdir():
        shutil.copy(program, directory)
    path = directory / f"{kind}.yaml"
    text = HEAD.format(kind=kind) + SCENARIOS[kind.removesuffix(TRACED)].replace("TRACE", trace).lstrip()
    path.write_text(f"{text}repetitions: {repetitions}\n")
    return path

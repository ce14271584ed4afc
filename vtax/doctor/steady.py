"""Whether the CPUs are steady: the clock rate may change, and others may share the cores.

The canary's kinds of work distinguish both. A chain of multiplications waits for results: only a lower clock rate
slows it. Independent additions fill the core: another thread on the core slows them, which on a rented machine is a
stranger's.
"""

import os
import time
from collections.abc import Callable, Sequence
from statistics import quantiles

from vtax.agent_api import AgentApi, CanaryOpenParams, CanaryReading
from vtax.doctor.bench import Bench, asked
from vtax.doctor.check import Check
from vtax.machine.agent import AgentError, AgentGone

SUBJECT = "steady CPUs"
LOOKS = 30
APART_S = 0.015
"""What shares a core comes and goes within some 50 ms; all looks take about a second."""
MOST_CPUS = 4
STEADY = 1.1
"""How many times as long the same work may take."""
ANSWER_S = 2.0


def steady_cpus(bench: Bench) -> Check:
    """Whether the first CPUs are steady."""
    cpus = sorted(os.sched_getaffinity(0))[:MOST_CPUS]
    try:
        return judge(asked(bench, lambda api: _looks(api, cpus)))
    except (AgentError, AgentGone) as error:
        return Check("machine", SUBJECT, False, f"not tried: {error}; needs root with CAP_SYS_NICE")


def judge(looks: Sequence[Sequence[CanaryReading]]) -> Check:
    """The same of what was read: in each look a reading of each CPU, in the same order."""
    if (chain := slowdown(looks, lambda reading: reading.chain_ns)) > STEADY:
        problem = (
            f"their clock rate changes: the same work takes up to {chain:.2f} times as long; "
            "needs a fixed rate (the governor performance, no turbo)"
        )
        return Check("machine", SUBJECT, False, problem)
    if slowdown(looks, lambda reading: reading.parallel_ns) > STEADY:
        call = slowdown(looks, lambda reading: reading.system_call_ns)
        frame = slowdown(looks, lambda reading: reading.frame_ns)
        problem = (
            f"others share their cores: system calls take up to {call:.2f} times as long, frames {frame:.2f}; "
            "needs whole cores (a dedicated host, no SMT), or more repetitions"
        )
        return Check("machine", SUBJECT, False, problem)
    detail = f"the same work takes as long in {len(looks)} looks, within {100 * (STEADY - 1):.0f}%"
    return Check("machine", SUBJECT, True, detail)


def slowdown(looks: Sequence[Sequence[CanaryReading]], work_ns: Callable[[CanaryReading], float]) -> float:
    """How many times as long work takes in the slowest tenth of looks as in the fastest, by the worst CPU."""
    of_cpus = (map(work_ns, of_cpu) for of_cpu in zip(*looks, strict=True))
    tenths = (quantiles(times_ns, n=10, method="inclusive") for times_ns in of_cpus)
    return max(slow_ns / fast_ns for fast_ns, *_, slow_ns in tenths)


def _looks(api: AgentApi, cpus: list[int]) -> list[list[CanaryReading]]:
    api.canary_open(CanaryOpenParams(cpus=cpus), ANSWER_S)
    looks = []
    for _ in range(LOOKS):
        looks.append(api.canary_read(ANSWER_S).readings)
        time.sleep(APART_S)
    api.canary_close(ANSWER_S)
    return looks

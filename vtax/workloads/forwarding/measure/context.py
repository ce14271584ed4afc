"""Who did the UUT's work in a trial: its own threads, or the sender."""

from vtax.testbed.accounts import INGRESS
from vtax.testbed.cpu_time import threads_between
from vtax.testbed.neighbours import NEIGHBOURS_ENTRIES
from vtax.trial.frames.limits import frames_sent
from vtax.trial.frames.measured import Measured
from vtax.workloads.forwarding.measure.hops import way_of

OWN_CONTEXT_NS_PER_FRAME = 50
"""Less CPU time than this a frame in the ingress thread, and the frames were handled elsewhere."""


def uut_context(measured: Measured) -> str | None:
    """Return `own` when the UUT's ingress threads did the work, `sender` when it was done inside the sender's send().

    Decided by where CPU time went, not by configuration: between the samples, against the frames that came meanwhile.
    """
    if measured.cpu is None:
        return None
    before, after = measured.cpu
    elapsed_s = after["at_s"] - before["at_s"]
    departed = sum(map(measured.departed, measured.source.streams))
    entered = sum(map(measured.received, way_of(measured).uut_entries))
    frames = frames_sent(measured) * elapsed_s / measured.window_s * entered / max(departed, 1)
    run_ns = sum(
        times["run_ns"]
        for account, times in threads_between(before, after).items()
        if account.component == INGRESS and account.interface not in NEIGHBOURS_ENTRIES
    )
    return "own" if run_ns >= OWN_CONTEXT_NS_PER_FRAME * frames else "sender"

"""CPU time of a trial's host as rows of `cpu`: what the kernel counted, and what was sampled."""

from vtax.campaign.crosscheck import ledger_of
from vtax.campaign.ledger import account_named
from vtax.campaign.observed import Observed, shares_apart
from vtax.machine.cpu import CpuSample, cpu_use
from vtax.results import Row
from vtax.testbed.cpu_time import ThreadTimes
from vtax.testbed.guest import GUEST, NEIGHBOUR, PEER, SERVER


def cpu_row(
    trial: int,
    host: str,
    domain: str,
    component: str,
    percent: float,
    rounding: float = 0.0,
    wait: float | None = None,
) -> Row:
    """What was counted for a component, known to `rounding`."""
    return {
        "trial_id": trial,
        "host": host,
        **_whose(domain),
        "component": component,
        "percent": percent,
        "low": max(0.0, percent - rounding),
        "high": percent + rounding,
        "wait_percent": wait,
    }


def counted_rows(measured: Observed) -> list[Row]:
    """The UUT's CPUs as a whole, and each thread that has a name.

    What a hypervisor below gave the guests is the whole's, and was not stolen from it.
    """
    if measured.cpu is None:
        return []
    before, after = measured.cpu
    elapsed_s = after["at_s"] - before["at_s"]
    use = cpu_use(*map(CpuSample.of, measured.cpu))
    apart = shares_apart(before, after)
    apart_percent = 100 * sum(apart.values())
    busy_percent = use.busy_percent + apart_percent
    steal_percent = max(0.0, use.steal_percent - apart_percent)
    rows = [
        cpu_row(measured.trial, "uut", "host", "total", busy_percent, use.rounding_percent),
        cpu_row(measured.trial, "uut", "steal", "total", steal_percent, use.rounding_percent),
    ]
    nothing: ThreadTimes = {"run_ns": 0, "wait_ns": 0, "runs": 0}
    for name, times in after["threads"].items():
        earlier = before["threads"].get(name, nothing)
        percent = (times["run_ns"] - earlier["run_ns"]) / elapsed_s / 1e7
        wait = (times["wait_ns"] - earlier["wait_ns"]) / elapsed_s / 1e7
        rows.append(cpu_row(measured.trial, "uut", *account_named(name), percent, wait=wait))
    for name, share in apart.items():
        rows.append(cpu_row(measured.trial, "uut", *account_named(name), 100 * share))
    return rows


def ledger_rows(measured: Observed, machine: str) -> list[Row]:
    """Every account of the sampled ledger of the UUT's machine; none where nothing was sampled."""
    found = ledger_of(measured)
    if found is None or measured.cpu is None:
        return []
    found = found.with_guests_apart(shares_apart(*measured.cpu))
    return [
        {
            "trial_id": measured.trial,
            "host": machine,
            "wait_percent": None,
            **_whose(share["domain"]),
            "component": share["component"],
            "percent": share["percent"],
            "low": share["low"],
            "high": share["high"],
            "samples": share["samples"],
        }
        for share in found.rows()
    ]


def _whose(domain: str) -> Row:
    """Domain and guest of a name: guests, neighbours and far ends are numbered from 0, the only one has no number."""
    for numbered in (GUEST, NEIGHBOUR, PEER, SERVER):
        number = domain.removeprefix(numbered)
        if domain.startswith(numbered) and (not number or number.isdecimal()):
            return {"domain": numbered, "guest": int(number or 0)}
    return {"domain": domain, "guest": None}

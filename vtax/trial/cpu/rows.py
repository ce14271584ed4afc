"""CPU time of a trial's host as rows of `cpu`: what the kernel counted, and what was sampled."""

from vtax.machine.cpu import CpuSample, cpu_use
from vtax.results import Row
from vtax.testbed.accounts import HOST, Account
from vtax.testbed.cpu_time import guests_between, threads_between
from vtax.testbed.guest import GUEST, NEIGHBOUR, PEER, SERVER
from vtax.trial.cpu.crosscheck import ledger_of
from vtax.trial.observed import Observed


def cpu_row(
    trial: int,
    host: str,
    account: Account,
    percent: float,
    rounding: float = 0.0,
    wait: float | None = None,
) -> Row:
    """What was counted for a component, known to `rounding`."""
    return {
        "trial_id": trial,
        "host": host,
        **_whose(account),
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
    apart = guests_between(before, after)
    apart_percent = 100 * sum(apart.values())
    busy_percent = use.busy_percent + apart_percent
    steal_percent = max(0.0, use.steal_percent - apart_percent)
    rows = [
        cpu_row(measured.trial, "uut", Account(HOST, "total"), busy_percent, use.rounding_percent),
        cpu_row(measured.trial, "uut", Account("steal", "total"), steal_percent, use.rounding_percent),
    ]
    for account, times in threads_between(before, after).items():
        percent, wait = times["run_ns"] / elapsed_s / 1e7, times["wait_ns"] / elapsed_s / 1e7
        rows.append(cpu_row(measured.trial, "uut", account, percent, wait=wait))
    for account, share in apart.items():
        rows.append(cpu_row(measured.trial, "uut", account, 100 * share))
    return rows


def ledger_rows(measured: Observed, machine: str) -> list[Row]:
    """Every account of the sampled ledger of the UUT's machine; none where nothing was sampled."""
    found = ledger_of(measured)
    if found is None or measured.cpu is None:
        return []
    found = found.with_guests_apart(guests_between(*measured.cpu))
    return [
        {
            "trial_id": measured.trial,
            "host": machine,
            "wait_percent": None,
            **_whose(share["account"]),
            "percent": share["percent"],
            "low": share["low"],
            "high": share["high"],
            "samples": share["samples"],
        }
        for share in found.rows()
    ]


def _whose(account: Account) -> Row:
    """Return domain, guest and component: guests and their far ends are numbered from 0, the only one included."""
    number = (account.number or 0) if account.domain in (GUEST, NEIGHBOUR, PEER, SERVER) else None
    return {"domain": account.domain, "guest": number, "component": account.component_label}

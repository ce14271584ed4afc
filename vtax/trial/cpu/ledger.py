"""Whose the CPU time of a host was: each sample of its CPUs' clocks goes to one domain and component.

Samples that are missing are time that the machine below took (steal), idle time that the kernel takes no samples of,
or nobody's that is known: the kernel's own counts of a CPU decide. So the accounts add up to all time of all CPUs.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import product
from typing import TypedDict

from msgspec import structs

from vtax.agent_api import CpuReadAnswer, ThreadSamples
from vtax.statistics.interval import CONFIDENCE, proportion_interval
from vtax.testbed.accounts import HOST, Account
from vtax.testbed.cpu_time import Owners

IDLE = Account("idle", "idle")
STOLEN = Account("steal", "lost")
KERNEL = Account(HOST, "kernel")
FOREIGN = Account(HOST, "foreign")
UNTOLD = Account(HOST, "untold")
"""Time that some task had of which the kernel gives no samples, or for which the meter had no room."""

VHOST = "vhost-"
"""Name of a thread that moves a guest's frames; its process id follows."""


@dataclass(frozen=True)
class CpuTime:
    """What a CPU did in the window by the kernel's own counts, as shares of it."""

    idle: float
    stolen: float


class Share(TypedDict):
    """What an account has in percent, 100 being one CPU, with the bounds of its interval, and its samples."""

    account: Account
    percent: float
    low: float
    high: float
    samples: int


@dataclass(frozen=True)
class Ledger:
    """Samples of each account by CPU, and how many each CPU has in all."""

    accounts: dict[Account, Counter[int]]
    slots: dict[int, int]

    def percent(self, account: Account) -> float:
        """What an account has; 100 is one CPU."""
        samples = self.accounts.get(account, Counter())
        return 100 * sum(count / self.slots[cpu] for cpu, count in samples.items())

    def with_guests_apart(self, shares: Mapping[Account, float]) -> "Ledger":
        """The same where a hypervisor below says what guests had, in CPUs.

        To this kernel that was time stolen from it, or idle.
        """
        accounts = {account: Counter(samples) for account, samples in self.accounts.items()}
        for account, share in shares.items():
            left = round(share * max(self.slots.values()))
            had = accounts.setdefault(account, Counter())
            for source, cpu in product((STOLEN, IDLE), self.slots):
                moved = min(left, accounts.get(source, Counter())[cpu])
                if moved:
                    accounts[source][cpu] -= moved
                    had[cpu] += moved
                    left -= moved
        return Ledger(accounts, self.slots)

    def rows(self) -> list[Share]:
        """Every account that has anything; their percents add up to 100 for each CPU."""
        rows: list[Share] = []
        for account in sorted(self.accounts, key=_order):
            samples = self.accounts[account]
            low, high = interval(samples, self.slots)
            rows.append(
                {
                    "account": account,
                    "percent": self.percent(account),
                    "low": 100 * low,
                    "high": 100 * high,
                    "samples": samples.total(),
                }
            )
        return rows


def interval(
    samples: Mapping[int, int], slots: Mapping[int, int], confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """Bounds of what samples stand for, in CPUs.

    The CPUs they fell on are taken as one: never too narrow for samples of several (Hoeffding 1956).
    """
    on = [cpu for cpu, count in samples.items() if count] or [min(slots)]
    total = sum(slots[cpu] for cpu in on)
    share = proportion_interval(sum(samples.values()), total, confidence)
    return len(on) * (share.low or 0.0), len(on) * (share.high or 0.0)


def ledger(
    sampled: CpuReadAnswer, owners: Owners, times: Mapping[int, CpuTime], host_cpus: Collection[int]
) -> Ledger:
    """File what the agent's `cpu.read` answered; `owners` as Host.owners has them.

    `host_cpus` are those of the UUT's host and guests: interrupts on the others are the instrument's.
    """
    accounts: dict[Account, Counter[int]] = {}

    def file(account: Account, cpu: int, samples: int) -> None:
        if samples:
            accounts.setdefault(account, Counter())[cpu] += samples

    for sample in sampled.samples:
        file(account_of(sample, owners, host_cpus), sample.cpu, sample.samples)
    slots = {}
    for cpu in sampled.cpus:
        number, time = cpu.cpu, times[cpu.cpu]
        slots[number] = max(cpu.expected, cpu.taken, 1)
        missing = slots[number] - cpu.taken
        stolen = min(missing, round(time.stolen * slots[number]))
        sampled_idle = accounts.get(IDLE, Counter())[number]
        idle = min(missing - stolen, max(0, round(time.idle * slots[number]) - sampled_idle))
        file(STOLEN, number, stolen)
        file(IDLE, number, idle)
        file(UNTOLD, number, missing - stolen - idle + cpu.unfiled)
    return Ledger(accounts, slots)


def account_of(sample: ThreadSamples, owners: Owners, host_cpus: Collection[int]) -> Account:
    """The account of a sample: interrupts are the host's, on other CPUs the instrument's, whomever they interrupt."""
    threads, processes = owners["threads"], owners["processes"]
    if sample.context != "task":
        return Account(HOST if sample.cpu in host_cpus else "instrument", sample.context)
    if sample.tid == 0:
        return IDLE
    # A thread that has ended meanwhile is its process's, and a process that has, its parent's.
    owner = threads.get(sample.tid) or processes.get(sample.tgid) or processes.get(sample.parent)
    if owner is not None:
        return owner
    if not sample.kernel:
        return FOREIGN
    served = _served(sample.comm)
    if served is None or served not in processes:
        return KERNEL
    return structs.replace(processes[served], component="vhost")


def _order(account: Account) -> tuple[str, int, str]:
    return account.domain, account.number or 0, account.component_label


def _served(comm: str) -> int | None:
    """The process id of the guest that a thread of the kernel's serves."""
    number = comm.removeprefix(VHOST)
    return int(number) if comm.startswith(VHOST) and number.isdecimal() else None

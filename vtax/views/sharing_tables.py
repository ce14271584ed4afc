"""Tables of guests that share a link: the metrics of anhalt2009, Table I."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

from vtax.model import numbers
from vtax.model.levels import Setting
from vtax.model.table import LEFT_OUT, UNKNOWN, Column, N, Number, Table, count, left_out, sections
from vtax.model.table import mean_number as mean
from vtax.model.table import ranged_number as ranged
from vtax.views.cpu import DOMAINS
from vtax.views.stream_cells import Account
from vtax.views.summary import Summary
from vtax.views.tables import GUESTS, heading

LEGEND = (
    "Brackets and ± are 95% intervals over repetitions; ratios and differences are paired within blocks. n counts "
    "repetitions; left out is the share of invalid trials."
)
SYMBOLS = "Symbols as in anhalt2009, Table I."
CPU_NOTE = (
    "Percent of one CPU. The machine's CPU time is sampled on all its CPUs, those of the instrument included. "
    "A soft interrupt counts on the CPU that runs it: CPUs of host and guests may do work of the far ends, and the "
    "reverse."
)

Place = tuple[str, Setting, int]


class OfGuests(Protocol):
    """What every row has."""

    @property
    def platform(self) -> str:
        """The platform's name."""

    @property
    def setting(self) -> Setting:
        """The row's setting."""

    @property
    def guests(self) -> int:
        """How many."""

    @property
    def key(self) -> str:
        """The key of its cell."""


Row = TypeVar("Row", bound=OfGuests)


def goodput_table(summary: Summary) -> Table:
    """R aggregate, the fair share, and fairness."""
    fairness = _by_place(summary.streams.sharing.fairness)

    def of_goodput(row: OfGuests) -> Number:
        found = fairness.get(_place(row))
        return ranged(found.goodput if found else None, numbers.ratio)

    return Table(
        name="goodput",
        title="Goodput by guests",
        note="R aggregate is the layer-4 payload of all guests together, R / N the fair share of it. Fairness is "
        "Jain's index, 1 / N to 1. Of link: share of the goodput of a full link.",
        columns=(
            Column("platform"),
            GUESTS,
            Column("R aggregate", "Mbit/s", numeric=True),
            Column("of link", "%", numeric=True),
            Column("R / N", "Mbit/s", numeric=True),
            Column("fairness", numeric=True),
            N,
            LEFT_OUT,
        ),
        sections=sections(
            summary.streams.sharing.goodput,
            lambda row: heading(summary, row),
            lambda row: (
                row.platform,
                str(row.guests),
                mean(row.aggregate_mbps, numbers.mbps),
                mean(row.of_link, numbers.ratio_as_percent),
                mean(row.fair_share_mbps, numbers.mbps),
                of_goodput(row),
                count(row.aggregate_mbps),
                left_out(row.aggregate_mbps.left_out),
            ),
        ),
    )


def efficiency_table(summary: Summary) -> Table:
    """E throughput, of the emulated group against itself; empty where there is none at all."""
    rows = summary.streams.sharing.efficiency
    return Table(
        name="efficiency",
        title="Efficiency",
        note="E throughput: R aggregate as a share of the reference's with one guest, paired within blocks. The "
        "reference of an emulated platform is the platform itself, unless raw was emulated as well.",
        columns=(
            Column("platform"),
            GUESTS,
            Column("E throughput", numeric=True),
            N,
            LEFT_OUT,
            Column("reference"),
        ),
        sections=sections(
            rows if any(row.efficiency for row in rows) else [],
            lambda row: heading(summary, row),
            lambda row: (
                row.platform,
                str(row.guests),
                ranged(row.efficiency, numbers.ratio),
                count(row.efficiency),
                left_out(row.efficiency.left_out) if row.efficiency else Number(UNKNOWN),
                row.problem or f"{row.reference}, 1 guest",
            ),
        ),
    )


def scaling_table(summary: Summary) -> Table:
    """Predictability: what more guests change."""
    return Table(
        name="scaling",
        title="Change with the number of guests",
        note="Against the same platform with one guest, paired within blocks: R aggregate as a ratio, the CPU time of "
        "host and guests (C aggregate) as a difference in points, 100 = one CPU.",
        columns=(
            Column("platform"),
            GUESTS,
            Column("R aggregate", "ratio", numeric=True),
            N,
            Column("C aggregate added", "points", numeric=True),
            N,
            LEFT_OUT,
        ),
        sections=sections(
            summary.streams.sharing.scaling,
            lambda row: heading(summary, row),
            lambda row: (
                row.platform,
                str(row.guests),
                ranged(row.aggregate_ratio, numbers.ratio),
                count(row.aggregate_ratio),
                ranged(row.host_percent, numbers.signed(numbers.percent)),
                count(row.host_percent),
                left_out(row.left_out),
            ),
        ),
    )


def guest_cpu_table(summary: Summary) -> Table:
    """C aggregate, a guest's part of it, and its fairness."""
    fairness = _by_place(summary.streams.sharing.fairness)

    def of_cpu(row: OfGuests) -> Number:
        found = fairness.get(_place(row))
        return ranged(found.cpu if found else None, numbers.ratio)

    return Table(
        name="guest-cpu",
        title="CPU by guests",
        note="C aggregate is the busy time of the CPUs of host and guests, as the kernel counts it. C i is the mean "
        f"over the guests, fairness its Jain's index. {CPU_NOTE}",
        columns=(
            Column("platform"),
            GUESTS,
            Column("C aggregate", "%", numeric=True),
            Column("C i", "%", numeric=True),
            Column("fairness", numeric=True),
            Column("machine", "%", numeric=True),
            N,
            LEFT_OUT,
        ),
        sections=sections(
            summary.streams.sharing.cpu,
            lambda row: heading(summary, row),
            lambda row: (
                row.platform,
                str(row.guests),
                mean(row.host_percent, numbers.percent),
                mean(row.guest_percent, numbers.percent),
                of_cpu(row),
                mean(row.busy_percent, numbers.percent),
                count(row.host_percent or row.busy_percent),
                left_out(row.left_out),
            ),
        ),
    )


def guests_table(summary: Summary) -> Table:
    """R i, C i and L i of each guest."""
    cpu, trips = _by_place(summary.streams.sharing.cpu), _by_place(summary.streams.sharing.round_trips)
    rows = [
        (row, guest, goodput)
        for row in summary.streams.sharing.goodput
        for guest, goodput in row.by_guest_mbps.items()
    ]

    def cpu_of(row: OfGuests, guest: int) -> Number:
        found = cpu.get(_place(row))
        return mean(found.by_guest_percent.get(guest) if found else None, numbers.percent)

    def trip_of(row: OfGuests, guest: int) -> Number:
        found = trips.get(_place(row))
        return mean(found.by_guest_ns.get(guest) if found else None, numbers.microseconds)

    return Table(
        name="guests",
        title="Each guest",
        note="R i is the goodput of guest i, C i its sampled CPU time in percent of one CPU. L i is TCP's smoothed "
        "round trip at the end of the trial, under load and queueing included.",
        columns=(
            Column("platform"),
            GUESTS,
            Column("guest"),
            Column("R i", "Mbit/s", numeric=True),
            Column("C i", "%", numeric=True),
            Column("L i", "µs", numeric=True),
            N,
            LEFT_OUT,
        ),
        sections=sections(
            rows,
            lambda row: heading(summary, row[0]),
            lambda row: (
                row[0].platform,
                str(row[0].guests),
                str(row[1]),
                mean(row[2], numbers.mbps),
                cpu_of(row[0], row[1]),
                trip_of(row[0], row[1]),
                count(row[2]),
                left_out(row[2].left_out),
            ),
        ),
    )


def accounts_table(summary: Summary) -> Table:
    """Whose all CPU time of the machine was but idle."""
    rows = [
        (row, account, row.by_account[account])
        for row in summary.streams.sharing.cpu
        for account in ordered(row.by_account)
    ]
    return Table(
        name="accounts",
        title="CPU ledger by guests",
        note=CPU_NOTE,
        columns=(
            Column("platform"),
            GUESTS,
            Column("whose"),
            Column("CPU", "%", numeric=True),
            N,
            LEFT_OUT,
        ),
        sections=sections(
            rows,
            lambda row: heading(summary, row[0]),
            lambda row: (
                row[0].platform,
                str(row[0].guests),
                account_label(row[1]),
                mean(row[2], numbers.percent),
                count(row[2]),
                left_out(row[2].left_out),
            ),
        ),
    )


def ordered(accounts: Iterable[Account]) -> list[Account]:
    """Accounts as they are stacked, guests first."""
    rank = {domain: position for position, domain in enumerate(DOMAINS)}
    return sorted(accounts, key=lambda each: (rank.get(each[0], len(rank)), each[1] or 0))


def account_label(account: Account) -> str:
    """Whose time it is, in a table."""
    domain, guest = account
    return DOMAINS.get(domain, domain) + ("" if guest is None else f" {guest}")


def _place(row: OfGuests) -> Place:
    return row.platform, row.setting, row.guests


def _by_place(rows: Iterable[Row]) -> dict[Place, Row]:
    return {_place(row): row for row in rows}

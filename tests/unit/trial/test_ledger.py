"""Every sample of a CPU's clock is in one account, and the accounts of a host add up to its CPUs."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from tests.helpers.trials import INGRESS_IN0, judge, make_cell, make_measured, record, sink_cost
from vtax.agent_api import CpuReadAnswer, SampledCpu, ThreadSamples
from vtax.testbed.accounts import CONTROLLER, Account
from vtax.testbed.cpu_time import Owners
from vtax.trial.cpu.ledger import UNTOLD, CpuTime, account_of, interval, ledger
from vtax.trial.frames.measured import Measured
from vtax.trial.interference import uut_pauses
from vtax.trial.trial_rows import trial_row
from vtax.trial.verdict import Verdict
from vtax.workloads.forwarding.measure.rows import Instrument

OWNERS: Owners = {
    "threads": {50: INGRESS_IN0, 61: Account("guest", "vcpu 0"), 62: Account("guest", "emulator")},
    "processes": {
        10: CONTROLLER,
        20: Account.of_agent("source"),
        30: Account.of_agent("sink"),
        60: Account("guest", "other"),
    },
}
HOST_CPUS = {0, 1}
"""Of three; the third is the instrument's."""
THREADS = st.sampled_from([0, 2, 9, 10, 20, 30, 50, 60, 61, 62, 99])


def labels(account: Account) -> tuple[str, str]:
    """Domain and component, as rows have them."""
    return account.domain, account.component_label


def sample(tid: int, samples: int = 1, cpu: int = 0, **changes: Any) -> ThreadSamples:
    entry: dict[str, Any] = {
        "tid": tid,
        "tgid": tid,
        "parent": 1,
        "kernel": False,
        "comm": "sh",
        "cgroup": 1,
        "context": "task",
    }
    return ThreadSamples(**{**entry, "cpu": cpu, "samples": samples, **changes})


def told(entries: list[ThreadSamples], expected: int, unfiled: int = 0, cpus: int = 1) -> CpuReadAnswer:
    """What `cpu.read` answers of these samples."""
    taken = [sum(entry.samples for entry in entries if entry.cpu == cpu) + unfiled for cpu in range(cpus)]
    return CpuReadAnswer(
        cpus=[
            SampledCpu(
                cpu=cpu,
                expected=expected,
                taken=taken[cpu],
                unfiled=unfiled,
                late_ns=0,
                latest_ns=0,
                paused=0,
                missed=0,
            )
            for cpu in range(cpus)
        ],
        samples=entries,
        entries=len(entries),
        period_ns=1_000_000,
        window_ns=1_000_000_000,
    )


def with_cpu(answer: CpuReadAnswer, cpu: int, **changes: int) -> CpuReadAnswer:
    cpus = [structs.replace(each, **changes) if each.cpu == cpu else each for each in answer.cpus]
    return structs.replace(answer, cpus=cpus)


ENTRIES = st.lists(
    st.builds(
        sample,
        THREADS,
        samples=st.integers(1, 400),
        cpu=st.integers(0, 2),
        tgid=THREADS,
        parent=THREADS,
        kernel=st.booleans(),
        comm=st.sampled_from(["sh", "vhost-60", "vhost-99", "vhost-", "ksoftirqd/0"]),
        context=st.sampled_from(["task", "softirq", "hardirq"]),
    ),
    max_size=30,
)
SHARES = st.floats(0, 1.2)


@pytest.mark.slow
@given(
    ENTRIES,
    st.integers(0, 3000),
    st.integers(0, 20),
    st.lists(st.tuples(SHARES, SHARES), min_size=3, max_size=3),
)
def test_accounts_add_up_to_all_cpus(
    entries: list[ThreadSamples], expected: int, unfiled: int, times: list[tuple[float, float]]
) -> None:
    found = ledger(
        told(entries, expected, unfiled, cpus=3),
        OWNERS,
        {cpu: CpuTime(idle, stolen) for cpu, (idle, stolen) in enumerate(times)},
        HOST_CPUS,
    )
    rows = found.rows()
    assert len({row["account"] for row in rows}) == len(rows)
    seen = [cpu for cpu, slots in found.slots.items() if slots]
    assert seen == [0, 1, 2]
    assert sum(row["percent"] for row in rows) == pytest.approx(300, rel=1e-12)
    assert sum(row["samples"] for row in rows) == sum(found.slots.values())
    for row in rows:
        assert row["samples"] > 0
        assert 0 <= row["low"] <= row["high"] <= 300
        if len({*found.slots.values()}) == 1:
            assert row["low"] <= row["percent"] + 1e-9
            assert row["percent"] - 1e-9 <= row["high"]


@given(ENTRIES)
def test_every_sample_is_in_the_account_of_its_owner(entries: list[ThreadSamples]) -> None:
    found = ledger(told(entries, 0, cpus=3), OWNERS, dict.fromkeys(range(3), CpuTime(0.0, 0.0)), HOST_CPUS)
    for account, samples in found.accounts.items():
        mine = [entry for entry in entries if account_of(entry, OWNERS, HOST_CPUS) == account]
        assert samples.total() == sum(entry.samples for entry in mine) + (
            sum(slots == 1 and not _taken(entries, cpu) for cpu, slots in found.slots.items())
            if account == UNTOLD
            else 0
        )


def _taken(entries: list[ThreadSamples], cpu: int) -> int:
    return sum(entry.samples for entry in entries if entry.cpu == cpu)


@pytest.mark.parametrize(
    ("entry", "account"),
    [
        (sample(0), ("idle", "idle")),
        (sample(0, context="softirq"), ("host", "softirq")),
        (sample(61, tgid=60), ("guest", "vcpu 0")),
        (sample(61, tgid=60, context="softirq"), ("host", "softirq")),
        (sample(63, tgid=60), ("guest", "other")),
        (sample(70, parent=60), ("guest", "other")),
        (sample(50, kernel=True, parent=2), ("host", "ingress in0")),
        (sample(51, kernel=True, parent=2, comm="kworker/0:1"), ("host", "kernel")),
        (sample(52, kernel=True, parent=2, comm="vhost-60"), ("guest", "vhost")),
        (sample(52, kernel=True, parent=2, comm="vhost-99"), ("host", "kernel")),
        (sample(52, comm="vhost-60"), ("host", "foreign")),
        (sample(20), ("source", "agent")),
        (sample(21, tgid=20), ("source", "agent")),
        (sample(30), ("sink", "agent")),
        (sample(11, parent=10), ("controller", "vtax")),
        (sample(99), ("host", "foreign")),
    ],
)
def test_a_sample_belongs_to_its_thread_or_process_or_what_interrupts_them(
    entry: ThreadSamples, account: tuple[str, str]
) -> None:
    assert labels(account_of(entry, OWNERS, HOST_CPUS)) == account


def test_missing_samples_are_stolen_first_then_idle_then_untold() -> None:
    entries = [sample(20, 500), sample(0, 100)]
    found = ledger(told(entries, 1000), OWNERS, {0: CpuTime(idle=0.3, stolen=0.1)}, HOST_CPUS)
    assert {labels(account): samples[0] for account, samples in found.accounts.items()} == {
        ("source", "agent"): 500,
        ("idle", "idle"): 100 + 200,
        ("steal", "lost"): 100,
        ("host", "untold"): 100,
    }


def test_an_interval_holds_its_share_as_often_as_it_says() -> None:
    """Binomial: 100 of 1000 samples of one CPU are 8.2 to 12.0%; as many on each of two CPUs, 17.4 to 22.8%."""
    low, high = interval({0: 100}, {0: 1000, 1: 1000})
    assert (100 * low, 100 * high) == (pytest.approx(8.21, abs=0.01), pytest.approx(12.03, abs=0.01))
    both = interval({0: 100, 1: 100}, {0: 1000, 1: 1000})
    assert both == (pytest.approx(0.174, abs=0.001), pytest.approx(0.228, abs=0.001))
    assert interval({}, {0: 1000, 1: 1000}) == (0.0, pytest.approx(0.00368, abs=0.00001))
    assert interval({0: 1000}, {0: 1000, 1: 1000})[1] == 1.0


def sampled(idle: int = 2400, ingress: int = 23, interrupted: int = 0) -> Measured:
    """The trial of make_measured with samples: CPU 1 idles 60%, its ingress thread runs 0.57%, others have the rest."""
    measured = make_measured(make_cell())
    for at, state in zip((0.0, 1.0), measured.cpu or (), strict=True):
        state["machine"] = {"idle_s": {0: 0.0, 1: 0.6 * at}, "steal_s": {0: 0.0, 1: 0.0}}
    entries = [
        sample(20, 4000, cpu=0),
        sample(0, idle, cpu=1),
        sample(50, ingress, cpu=1, kernel=True),
        sample(50, interrupted, cpu=1, context="softirq"),
    ]
    entries.append(sample(99, 4000 - idle - ingress - interrupted, cpu=1))
    measured.sampled, measured.owners = told(entries, 4000, cpus=2), OWNERS
    return measured


def test_a_ledger_that_agrees_is_no_reason() -> None:
    judgement = judge(sampled())
    assert (judgement.verdict, judgement.reasons) == (Verdict.VALID, ())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"idle": 2000}, "CPU ledger: idle CPU 1 has 50.0% of a CPU by samples, 60.0% by the kernel's count"),
        ({"ingress": 400}, "CPU ledger: ingress in0 has 10.0% of a CPU by samples"),
        ({"interrupted": 400}, "CPU ledger: ingress in0 has 10.6% of a CPU by samples"),
    ],
)
def test_samples_and_counts_that_disagree_make_a_trial_suspect(changes: dict[str, int], words: str) -> None:
    judgement = judge(sampled(**changes))
    assert judgement.verdict is Verdict.SUSPECT
    assert judgement.reasons[0].startswith(words)


def test_interrupts_on_an_idle_cpu_are_idle_by_samples_alone() -> None:
    assert judge(sampled(idle=3000)).reasons == ()


def test_a_thread_may_be_misjudged_by_the_samples_lateness_each_time_it_runs() -> None:
    """10% by samples that are 20 µs late, 0.57% counted: 4000 runs a second may be as much, 2000 may not."""
    for runs, reasons in ((4000, 0), (2000, 1)):
        measured = sampled(ingress=400)
        assert measured.sampled is not None
        measured.sampled = with_cpu(measured.sampled, 1, late_ns=4000 * 20_000)
        measured.cpu[1]["threads"][0]["runs"] = runs  # type: ignore[index]
        assert len(judge(measured).reasons) == reasons


@pytest.mark.parametrize(
    ("paused", "missed", "verdict"), [(39, 160, "valid"), (40, 175, "suspect"), (40, 440, "invalid")]
)
def test_pauses_of_the_uuts_cpus_make_a_trial_suspect_and_many_invalid(
    paused: int, missed: int, verdict: str
) -> None:
    """CPU 1 has 4000 samples beside those that were missed; those of CPU 0 are the instrument's."""
    measured = sampled()
    assert measured.sampled is not None
    changes = {"late_ns": 80_000_000, "latest_ns": 12_300_000, "paused": paused, "missed": missed}
    measured.sampled = with_cpu(with_cpu(measured.sampled, 1, **changes), 0, paused=4000, latest_ns=10**9)
    judgement = judge(measured)
    assert judgement.verdict == verdict
    share = (paused + missed) / (4000 + missed)
    reason = f"CPUs of the UUT were paused: for up to 12.3 ms at a time; of their samples: {100 * share:.1f}%"
    assert [found for found in judgement.reasons if "paused" in found] == [reason] * (verdict != "valid")
    columns = trial_row(measured, judgement, {}, (0.1, 1.0), drain_s=0.0, start_spread_ms=None)
    assert columns["uut_paused_share"] == pytest.approx(share)
    assert columns["uut_longest_pause_ns"] == 12_300_000


def test_idle_cpus_without_a_sample_have_no_pauses_to_tell_of() -> None:
    measured = sampled()
    assert measured.sampled is not None
    measured.sampled = with_cpu(measured.sampled, 1, taken=0)
    assert uut_pauses(measured) is None


def test_time_that_is_nobodys_makes_a_trial_suspect() -> None:
    measured = sampled()
    assert measured.sampled is not None
    measured.sampled = with_cpu(measured.sampled, 0, expected=5000)
    (reason,) = judge(measured).reasons
    assert reason == "CPU ledger: 10.0% of the CPU time could not be attributed"


def test_the_ledger_is_rows_of_the_machine() -> None:
    measured = sampled()
    place = {
        "block": 0,
        "position": 0,
        "repetition": 0,
        "attempt": 0,
        "accelerator": "none",
        "emulated": False,
    }
    rows = record(measured, place, Instrument(sink_costs={"sink": sink_cost(51.0)}), "local").cpu
    of_machine = {(row["domain"], row["component"]): row for row in rows if row.get("samples") is not None}
    assert sum(row["percent"] for row in of_machine.values()) == pytest.approx(200)
    assert {row["host"] for row in of_machine.values()} == {"local"}
    assert of_machine["host", "foreign"]["percent"] == pytest.approx(100 * 1577 / 4000)
    counted = {(row["host"], row["domain"], row["component"]) for row in rows if row.get("samples") is None}
    assert ("uut", "host", "total") in counted


def test_a_trial_without_samples_is_counted_as_before() -> None:
    measured = make_measured(make_cell())
    place = {
        "block": 0,
        "position": 0,
        "repetition": 0,
        "attempt": 0,
        "accelerator": "none",
        "emulated": False,
    }
    rows = record(measured, place, Instrument(sink_costs={"sink": sink_cost(51.0)}), "local").cpu
    assert rows
    assert all(row.get("samples") is None for row in rows)


def test_what_a_hypervisor_says_guests_had_was_stolen_or_idle() -> None:
    entries = [sample(0, 40), sample(50, 30)]
    found = ledger(told(entries, 100), OWNERS, {0: CpuTime(idle=0.5, stolen=0.2)}, HOST_CPUS)
    shared = found.with_guests_apart({Account("guest", "vcpu 0"): 0.25, Account("guest", "vcpu 1"): 0.1})
    percents = {labels(row["account"]): row["percent"] for row in shared.rows()}
    assert percents["guest", "vcpu 0"] == 25
    assert percents["guest", "vcpu 1"] == 10
    assert percents["steal", "lost"] == 0
    assert percents["idle", "idle"] == 50 + 20 - 35 - 0
    assert percents["host", "ingress in0"] == 30
    assert sum(percents.values()) == pytest.approx(100)


@given(
    st.dictionaries(
        st.sampled_from([Account.of_guest(guest, "vcpu 0") for guest in ("guest", "guest1", "neighbour")]),
        st.floats(0, 4),
    )
)
def test_guests_apart_have_no_more_than_there_is(shares: dict[Account, float]) -> None:
    found = ledger(told([sample(0, 60), sample(50, 40)], 100), OWNERS, {0: CpuTime(0.6, 0.0)}, HOST_CPUS)
    rows = found.with_guests_apart(shares).rows()
    assert sum(row["percent"] for row in rows) == pytest.approx(100)
    assert all(row["percent"] >= 0 for row in rows)

"""What of the kernel changes while trials run is found, with the command that ends it."""

from pathlib import Path

import pytest

from vtax.doctor.kernel import kernel_checks

CPUS = "sys/devices/system/cpu"
AT_WORK = {
    "clock rate": (f"{CPUS}/cpu1/cpufreq/scaling_governor", "schedutil", "performance"),
    "turbo": (f"{CPUS}/cpufreq/boost", "1", "0"),
    "turbo (Intel)": (f"{CPUS}/intel_pstate/no_turbo", "0", "1"),
    "same-page merging": ("sys/kernel/mm/ksm/run", "1", "0"),
    "NUMA balancing": ("proc/sys/kernel/numa_balancing", "1", "0"),
    "interrupt balancing": ("proc/77/comm", "irqbalance", "bash"),
}


def machine(root: Path, subject: str, content: str) -> Path:
    """A root where one facility's file has this content."""
    file = root / AT_WORK[subject][0]
    file.parent.mkdir(parents=True)
    file.write_text(f"{content}\n")
    return root


def test_a_kernel_without_them_is_steady(tmp_path: Path) -> None:
    (check,) = kernel_checks(tmp_path)
    assert (check.subject, check.usable, check.fix) == ("steady kernel", True, None)


@pytest.mark.parametrize("subject", AT_WORK)
def test_what_is_at_work_is_named_with_the_command_that_ends_it(subject: str, tmp_path: Path) -> None:
    file, harmful, fixed = AT_WORK[subject]
    (check,) = kernel_checks(machine(tmp_path, subject, harmful))
    assert (check.subject, check.usable) == (subject, False)
    assert check.detail.endswith(": trials differ by it")
    assert check.fix is not None
    if subject == "interrupt balancing":
        assert check.fix.endswith("systemctl stop irqbalance")
        return
    value, _, files = check.fix.partition(" | ")
    assert value == f"echo {fixed}"
    assert tmp_path / file in tmp_path.glob(files.split("tee /")[1])


@pytest.mark.parametrize("subject", AT_WORK)
def test_what_is_not_at_work_is_fine(subject: str, tmp_path: Path) -> None:
    (check,) = kernel_checks(machine(tmp_path, subject, AT_WORK[subject][2]))
    assert check.usable


def test_one_cpu_among_several_is_enough(tmp_path: Path) -> None:
    for cpu, governor in enumerate(("performance", "powersave")):
        file = tmp_path / f"{CPUS}/cpu{cpu}/cpufreq/scaling_governor"
        file.parent.mkdir(parents=True)
        file.write_text(governor)
    assert [check.subject for check in kernel_checks(tmp_path)] == ["clock rate"]

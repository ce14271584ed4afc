"""What holds a container: its range of ids, its filter of system calls, and what it cannot write."""

from pathlib import Path

import pytest

from vtax.campaign.platform_set import resolve
from vtax.inputs import InputError
from vtax.machine.user_namespace import FIRST, IDS, LAST, IdRange
from vtax.platforms import PlatformUnusable, confinement
from vtax.platforms.confinement import check_user_namespaces, read_only_paths, system_calls
from vtax.scenario import load_scenario

BEYOND = {
    *("mount", "umount2", "unshare", "setns", "pivot_root", "chroot", "clone3", "open_by_handle_at"),
    *("bpf", "perf_event_open", "ptrace", "process_vm_readv", "userfaultfd", "io_uring_setup"),
    *("init_module", "finit_module", "kexec_load", "reboot", "add_key", "keyctl", "clock_settime"),
}


def test_ranges_of_ids_are_whole_and_those_of_containers() -> None:
    ranges = [IdRange.of(f"vtax-{run}-guest{number}") for run in range(200) for number in range(8)]
    assert all(each.first >= FIRST and each.first + IDS <= LAST for each in ranges)
    assert {(each.first - FIRST) % IDS for each in ranges} == {0}
    assert len({each.first for each in ranges}) > 0.9 * len(ranges)
    assert ranges[0].line == f"0 {ranges[0].first} 65536\n"


def test_the_filter_refuses_what_leads_out_of_a_container() -> None:
    profile = system_calls()
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    allowed: list[str] = []
    for rule in profile["syscalls"]:  # type: ignore[union-attr] # a list of rules
        if rule["action"] == "SCMP_ACT_ALLOW":  # type: ignore[index,call-overload] # a mapping
            allowed += rule["names"]  # type: ignore[index,call-overload]
    assert BEYOND.isdisjoint(allowed)
    whole = [name for name in allowed if name not in ("socket", "personality")]
    assert sorted(set(whole)) == sorted(whole)


def test_settings_are_read_only_but_those_of_the_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("kernel", "net", "a-later-one"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(confinement, "SETTINGS", tmp_path)
    found = read_only_paths()
    assert {f"{tmp_path}/kernel", f"{tmp_path}/a-later-one", "/proc/sysrq-trigger"} <= set(found)
    assert f"{tmp_path}/net" not in found


def test_a_machine_without_user_namespaces_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = tmp_path / "max_user_namespaces"
    monkeypatch.setattr(confinement, "USER_NAMESPACES", limit)
    with pytest.raises(PlatformUnusable, match="this kernel has no user namespaces"):
        check_user_namespaces()
    limit.write_text("0\n")
    with pytest.raises(PlatformUnusable, match="no user namespaces are allowed") as unusable:
        check_user_namespaces()
    assert "sysctl -w user.max_user_namespaces=" in unusable.value.fix
    limit.write_text("10000\n")
    check_user_namespaces()


def test_a_platform_without_isolation_refuses_the_key() -> None:
    def resolved(*platforms: str) -> None:
        asked = ["platform.isolation=production,none"]
        scenario = load_scenario("quick").override(list(platforms), asked, None, None)
        resolve(scenario, scenario.cells())

    resolved("raw", "container")
    with pytest.raises(InputError, match=r"platform\.isolation: raw: no such key"):
        resolved("raw")
    with pytest.raises(InputError, match=r"platform\.isolation: .*production"):
        scenario = load_scenario("quick").override(["container"], ["platform.isolation=some"], None, None)
        resolve(scenario, scenario.cells())

"""The filter of system calls that LXC is given is the one that OCI runtimes are given."""

from vtax.platforms.confinement import system_calls
from vtax.platforms.lxc import system_calls_for_lxc


def test_the_filter_says_the_same_in_lxcs_words() -> None:
    """LXC takes a masked comparison as [index,value,op,mask], the OCI as value (the mask) and valueTwo."""
    version, policy, section, *rules = system_calls_for_lxc(system_calls()).splitlines()
    assert (version, policy, section) == ("2", "allowlist errno 1", "[all]")
    assert "clone allow [0,0,SCMP_CMP_MASKED_EQ,2114060288]" in rules
    assert "clone3 errno 38" in rules
    assert [rule for rule in rules if rule.startswith("socket ")] == [
        "socket allow [0,38,SCMP_CMP_LT,0]",
        "socket allow [0,40,SCMP_CMP_GT,0]",
    ]
    names = [name for rule in system_calls()["syscalls"] for name in rule["names"]]
    assert [rule.split()[0] for rule in rules] == names

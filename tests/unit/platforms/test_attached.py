"""Attached machines: which names and switches are refused before anything starts, and what ssh says of one."""

import pytest

from vtax.cli import main
from vtax.platforms import PlatformConfig, attached, libvirt
from vtax.platforms.attached.ssh import refusal
from vtax.testbed.ports import PORTS


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["attached"], "no machine is named; allowed: attached:HOST"),
        (["attached:far"], "no interfaces are named that far forwards by"),
        (["attached:-oProxyCommand=x", "--set", "platform.wires=a=b"], "attached:-oProxyCommand=x"),
        (["attached:far", "--set", "platform.wires=a b"], "platform.wires"),
    ],
)
def test_names_are_checked_before_anything_starts(
    arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "quick", "--platform", *arguments]) == 2
    errors = capsys.readouterr().err
    assert problem in errors
    assert len(errors.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("config", "allowed"),
    [(attached.Config(), {"bridge"}), (libvirt.Config(), {"bridge", "routed", "vf"})],
)
def test_switches_that_cannot_have_their_interfaces_are_refused(
    config: PlatformConfig, allowed: set[str]
) -> None:
    assert set(PORTS) - {"wire"} - set(config.refused_switches) == allowed


@pytest.mark.parametrize(
    ("errors", "sentence"),
    [
        ("Host key verification failed.\r\n", "the SSH host key of far is not known"),
        ("root@far: Permission denied (publickey).\r\n", "Permission denied"),
        ("ssh: Could not resolve hostname far: Name or service not known\r\n", "Could not resolve hostname"),
        ("", "it ended without a word"),
    ],
)
def test_what_ssh_says_becomes_a_sentence(errors: str, sentence: str) -> None:
    refused = refusal("far", errors)
    assert sentence in refused.reason
    assert "\n" not in str(refused)
    assert "ssh far" in refused.fix

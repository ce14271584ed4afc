"""The accounts of a testbed's CPU time, by their fields and in words."""

import msgspec
import pytest

from vtax.testbed.accounts import CONTROLLER, Account

ACCOUNTS = {
    "guest vcpu 0": (Account.of_guest("guest", "vcpu 0"), ("guest", "vcpu 0", None, None)),
    "guest12 other": (Account.of_guest("guest12", "other"), ("guest", "other", 12, None)),
    "neighbour0 emulator": (Account.of_guest("neighbour0", "emulator"), ("neighbour", "emulator", 0, None)),
    "source agent": (Account.of_agent("source"), ("source", "agent", None, None)),
    "peer1 agent": (Account.of_agent("peer1"), ("peer", "agent", 1, None)),
    "instrument far 3 agent": (
        Account.of_agent("instrument far 3"),
        ("instrument", "far 3 agent", None, None),
    ),
    "ingress in0": (Account.of_ingress("in0"), ("host", "ingress", None, "in0")),
    "controller vtax": (CONTROLLER, ("controller", "vtax", None, None)),
}


@pytest.mark.parametrize("label", ACCOUNTS)
def test_an_account_has_fields_and_a_label(label: str) -> None:
    account, (domain, component, number, interface) = ACCOUNTS[label]
    assert account == Account(domain, component, number, interface)
    assert account.label == label
    assert msgspec.json.decode(msgspec.json.encode(account), type=Account) == account

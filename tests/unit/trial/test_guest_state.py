"""A guest whose agent answers `guest.state` with something else: its trial is invalid."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.helpers.agents import HELLO, PLAYED, VALUES, close, played
from tests.helpers.guest_states import LIES, MAC, TRUE
from tests.helpers.trials import make_cell, make_measured
from vtax.agent_api import GuestNic, GuestStateAnswer
from vtax.machine.agent import Agent
from vtax.machine.ownership import OwnershipRecord
from vtax.testbed.guest import GUEST, GuestSpec, PlacedGuest
from vtax.testbed.guest_state import GuestState
from vtax.testbed.host import Host
from vtax.trial.endpoints.path import guest_end
from vtax.trial.guest import guest_findings, is_broken
from vtax.trial.observe import observe
from vtax.trial.path import PathFailed
from vtax.trial.verdict import Verdict

NIC = GuestNic(mac=MAC, address="198.18.0.1/24", mtu=1500, neighbours=[])


class Stood:
    """A guest of a host, behind the pipes of a stand-in for its agent."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent

    def last_words(self) -> str:
        return "login:"


@pytest.fixture
def host() -> Host:
    return Host("uut", OwnershipRecord("vtax-test-state"), {"host": [0], "guests": [0], "agents": [0]})


@pytest.fixture
def answering(tmp_path: Path, host: Host) -> Iterator[Callable[[dict[str, Any]], Host]]:
    """Has the host's guest answer its first question so."""
    agents = []

    def answer(reply: dict[str, Any]) -> Host:
        (tmp_path / "first").write_bytes(HELLO)
        (tmp_path / "then").write_text(json.dumps({"id": 1, **reply}) + "\n")
        agent = played([PLAYED, str(tmp_path / "first"), str(tmp_path / "then")])
        agents.append(agent)
        agent.wait_hello(5.0)
        host._guests[GUEST] = Stood(agent)  # type: ignore[assignment]
        return host

    yield answer
    for agent in agents:
        close(agent)


def placed(host: Host) -> PlacedGuest:
    """A guest with one NIC on this host."""
    return GuestSpec(GUEST, "uut", {"port-in": NIC}).placed(host)


def state_of(host: Host) -> GuestState:
    return placed(host).state()


def test_what_an_agent_answers_is_believed_as_far_as_it_goes(
    answering: Callable[[dict[str, Any]], Host],
) -> None:
    state = state_of(answering({"result": TRUE}))
    assert (state.condition, state.reason, state.last_words) == ("answers", None, "login:")
    assert state.ready_macs == {MAC}
    assert state.interfaces[0].dropped_queue == 2**63 - 1


@pytest.mark.parametrize("lie", LIES)
def test_an_answer_of_another_shape_is_the_agents_failure(
    lie: str, answering: Callable[[dict[str, Any]], Host]
) -> None:
    answer, words = LIES[lie]
    state = state_of(answering({"result": answer}))
    assert (state.condition, state.answers, state.interfaces) == ("misreports", False, [])
    assert state.last_words == "login:"
    assert re.search(words, state.reason or "")
    assert (state.reason or "").isprintable()


def test_an_error_for_an_answer_is_one_too(answering: Callable[[dict[str, Any]], Host]) -> None:
    state = state_of(answering({"error": {"message": "not \x1b[today"}}))
    assert state.condition == "misreports"
    assert state.reason == "answered guest.state with an error (not \\x1b[today)"


def is_without_nics(answer: Any) -> bool:
    """Whether it is the state of a guest without a NIC, which is what chance may make of a true answer."""
    if not isinstance(answer, dict) or answer.keys() != TRUE.keys() or answer["interfaces"] != []:
        return False
    offset, kills = answer["clock_offset_ns"], answer["oom_kills"]
    return (
        type(offset) is int
        and -(2**63) <= offset < 2**63
        and (kills is None or (type(kills) is int and 0 <= kills < 2**63))
    )


@pytest.mark.fuzz
@given(VALUES | st.fixed_dictionaries(dict.fromkeys(TRUE, VALUES)))
@example({"interfaces": [], "clock_offset_ns": 0, "oom_kills": None})
def test_any_answer_is_a_state_or_refused(answer: Any) -> None:
    try:
        told = msgspec.json.decode(json.dumps(answer), type=GuestStateAnswer)
    except msgspec.DecodeError:
        assert not is_without_nics(answer)
        return
    assert is_without_nics(answer)
    state = GuestState.told(told, "")
    assert msgspec.json.decode(msgspec.json.encode(state), type=GuestState) == state


@pytest.mark.parametrize("reply", [{"result": []}, {"result": {}}, {"error": {"message": "no"}}], ids=str)
def test_its_trial_is_invalid_by_name_and_its_path_is_built_anew(
    reply: dict[str, Any], answering: Callable[[dict[str, Any]], Host]
) -> None:
    host = answering(reply)
    measured = make_measured(make_cell())
    before = {GUEST: measured.guests[GUEST][0]}
    path: Any = SimpleNamespace(
        surroundings=lambda: {"at_s": 0.0, "clock_offset_ns": 10**18, "others": {}, "throttled_s": {}},
        owners=lambda: {"threads": {}, "processes": {}},
        neighbours=SimpleNamespace(open=lambda _: None, collect=lambda: measured.beside, close=lambda: None),
        canary=SimpleNamespace(read=dict),
        bridge_netfilter=dict,
        beside_uut=[],
        guest_states=lambda: {GUEST: state_of(host)},
    )
    observe(path, measured, before, lambda: None)
    ((verdict, reason),) = guest_findings(measured)
    assert verdict is Verdict.INVALID
    assert reason.startswith("the agent inside the guest answered guest.state with ")
    assert is_broken(measured)


@pytest.mark.parametrize("answer", [[], {}, {**TRUE, "interfaces": []}], ids=str)
def test_an_end_that_is_such_a_guest_does_not_become_ready(
    answer: Any, answering: Callable[[dict[str, Any]], Host]
) -> None:
    guest = placed(answering({"result": answer}))
    with pytest.raises(PathFailed, match=r"answered guest.state with|the guest has no NIC"):
        guest_end(guest, own_kernel=True)

"""Supervision: what a run depends on ends, and so does the run; a run that is over ends the watching."""

import queue
import threading
from typing import Any

import pytest

from vtax.campaign.ends import End
from vtax.campaign.supervise import supervised
from vtax.machine.agent import AgentGone


class Machine:
    """Agents that answer when the test says so; an abort answers what is under way."""

    def __init__(self) -> None:
        self.answers: dict[str, queue.SimpleQueue[Any]] = {}
        self.aborted: list[str] = []
        self.told = threading.Event()

    def end(self, agent: str) -> End:
        host: Any = self
        return End(host, agent, "eth0", "198.18.0.1", 0, True)

    def begin(self, agent: str, method: str, params: dict[str, Any]) -> str:
        if agent == "gone":
            raise AgentGone("gone: its stream ended")
        ticket = f"{agent}/{method}"
        self.answers[ticket] = queue.SimpleQueue()
        return ticket

    def finish(self, ticket: str, timeout_s: float) -> Any:
        answer = self.answers[ticket].get()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def call(self, agent: str, method: str, params: dict[str, Any], timeout_s: float) -> None:
        assert method == "abort"
        self.aborted.append(agent)
        for ticket, answers in self.answers.items():
            if ticket.startswith(f"{agent}/"):
                answers.put({})
        self.told.set()


@pytest.mark.parametrize("answer", [{"ended": "exit status 1"}, AgentGone("server: its stream ended")])
def test_what_ends_ends_the_run(answer: Any) -> None:
    machine = Machine()
    ends = [machine.end("server"), machine.end("other")]
    with supervised(ends, "server.watch", machine.end("client"), 60.0):
        machine.answers["server/server.watch"].put(answer)
        assert machine.told.wait(60.0)
        assert machine.aborted == ["client"]
    assert sorted(machine.aborted[1:]) == ["other", "server"]


def test_what_is_gone_already_ends_the_run_at_once() -> None:
    machine = Machine()
    with supervised([machine.end("gone")], "server.watch", machine.end("client"), 60.0):
        assert machine.told.wait(60.0)
        assert machine.aborted == ["client"]


def test_a_run_that_is_over_is_not_aborted() -> None:
    machine = Machine()
    with supervised([machine.end("server")], "server.watch", machine.end("client"), 60.0):
        pass
    assert machine.aborted == ["server"]

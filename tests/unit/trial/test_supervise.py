"""Supervision: what a run depends on ends, and so does the run; a run that is over ends the watching."""

import queue
import threading
from typing import Any

import pytest

from vtax.agent_api import AgentApi
from vtax.agent_message import Answer, Message, Nothing, Pending
from vtax.machine.agent import AgentGone
from vtax.trial.endpoints.path import End
from vtax.trial.supervise import supervised


class Machine:
    """Agents that answer when the test says so; an abort answers what is under way."""

    def __init__(self) -> None:
        self.answers: dict[str, queue.SimpleQueue[Any]] = {}
        self.aborted: list[str] = []
        self.told = threading.Event()

    def api(self, agent: str) -> AgentApi:
        return AgentApi(Calls(self, agent))

    def end(self, agent: str) -> End:
        host: Any = self
        return End(host, agent, "eth0", "198.18.0.1", 0, True)


class Calls:
    """What is asked of one of the agents."""

    def __init__(self, machine: Machine, agent: str) -> None:
        self.machine, self.agent = machine, agent

    def begin(self, method: str, params: Message, answer: type[Answer]) -> Pending[Answer]:
        if self.agent == "gone":
            raise AgentGone("gone: its stream ended")
        answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.machine.answers[f"{self.agent}/{method}"] = answers

        def finish(timeout_s: float = 0.0) -> Answer:
            found: Answer | Exception = answers.get()
            if isinstance(found, Exception):
                raise found
            return found

        return finish

    def call(self, method: str, params: Message, answer: type[Answer], timeout_s: float) -> Answer:
        assert method == "abort"
        self.machine.aborted.append(self.agent)
        for ticket, answers in self.machine.answers.items():
            if ticket.startswith(f"{self.agent}/"):
                answers.put(Nothing())
        self.machine.told.set()
        return answer()


@pytest.mark.parametrize("answer", [Nothing(), AgentGone("server: its stream ended")])
def test_what_ends_ends_the_run(answer: Any) -> None:
    machine = Machine()
    ends = [machine.end("server"), machine.end("other")]
    with supervised(ends, AgentApi.begin_server_watch, machine.end("client"), 60.0):
        machine.answers["server/server.watch"].put(answer)
        assert machine.told.wait(60.0)
        assert machine.aborted == ["client"]
    assert sorted(machine.aborted[1:]) == ["other", "server"]


def test_what_is_gone_already_ends_the_run_at_once() -> None:
    machine = Machine()
    with supervised([machine.end("gone")], AgentApi.begin_server_watch, machine.end("client"), 60.0):
        assert machine.told.wait(60.0)
        assert machine.aborted == ["client"]


def test_a_run_that_is_over_is_not_aborted() -> None:
    machine = Machine()
    with supervised([machine.end("server")], AgentApi.begin_server_watch, machine.end("client"), 60.0):
        pass
    assert machine.aborted == ["server"]

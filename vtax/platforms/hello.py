"""A guest has started when its agent says hello; one that does not is taken down again."""

import time
from typing import Protocol

from vtax.machine.agent import Agent, AgentGone
from vtax.platforms.contract import GuestPlan


class Started(Protocol):
    """A guest whose agent has not been heard yet."""

    agent: Agent
    hello_s: float

    def last_words(self) -> str:
        """The last lines of its console."""

    def stop(self) -> None:
        """Take it down."""


def await_hello(guest: Started, plan: GuestPlan, begun_s: float, limit_s: float) -> None:
    """Write the guest's process down, wait for hello, and note the time since `begun_s` (monotonic).

    Raises AgentGone with the guest's last words. Whatever is raised, the guest is gone by then.
    """
    try:
        plan.record.add_process(guest.agent.process.pid, plan.name)
        guest.agent.wait_hello(limit_s)
    except AgentGone as error:
        guest.stop()
        raise AgentGone(f"{error}\n{guest.last_words()}") from None
    except BaseException:
        guest.stop()
        raise
    guest.hello_s = time.monotonic() - begun_s

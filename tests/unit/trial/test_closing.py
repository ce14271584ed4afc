"""What agents opened is closed, whatever came before; an answer that is none is a breach then as well."""

from collections.abc import Callable

import pytest

from vtax.machine.agent import AgentBreach, AgentError, AgentGone
from vtax.trial.closing import close_all, closing


def failing(error: Exception, closed: list[str], name: str = "failed") -> Callable[[], None]:
    def close() -> None:
        closed.append(name)
        raise error

    return close


def breach(agent: str) -> AgentBreach:
    return AgentBreach(agent, "answered sender.close", "Expected `object`, got `array`")


def test_all_are_closed_and_the_first_breach_is_raised() -> None:
    closed: list[str] = []
    errors = [AgentError("not open"), breach("peer0"), AgentGone("guest: gone"), breach("peer1")]
    with pytest.raises(AgentBreach, match="peer0: answered"):
        close_all(failing(error, closed, str(number)) for number, error in enumerate(errors))
    assert closed == ["0", "1", "2", "3"]


def test_what_was_raised_before_comes_before_a_breach() -> None:
    closed: list[str] = []
    with pytest.raises(AgentGone, match="guest: gone"), closing(failing(breach("peer0"), closed)):
        raise AgentGone("guest: gone")
    assert closed == ["failed"]


def test_a_breach_in_closing_alone_is_raised() -> None:
    with pytest.raises(AgentBreach, match="peer0"), closing(failing(breach("peer0"), [])):
        pass
    with closing(failing(AgentError("not open"), [])):
        pass

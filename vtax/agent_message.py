"""What params and answers of the agent have in common, and what carries them."""

from typing import Protocol, TypeVar

from msgspec import Struct

CALL_TIMEOUT_S = 10.0
"""How long an answer is waited for where the caller names no limit."""


class Message(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Params or an answer. What is not given has its default and is not sent."""


class Nothing(Message, frozen=True):
    """No params, or nothing to answer."""


NO_PARAMS = Nothing()

Answer = TypeVar("Answer", bound=Message)
Answer_co = TypeVar("Answer_co", bound=Message, covariant=True)


class Pending(Protocol[Answer_co]):
    """An answer that is still to come."""

    def __call__(self, timeout_s: float = CALL_TIMEOUT_S) -> Answer_co:
        """Wait for it."""


class Caller(Protocol):
    """A way to an agent."""

    @property
    def agent(self) -> str:
        """Its name."""

    def call(self, method: str, params: Message, answer: type[Answer], timeout_s: float) -> Answer:
        """Ask, wait, and return the answer, which has to be of that type."""

    def begin(self, method: str, params: Message, answer: type[Answer]) -> Pending[Answer]:
        """Ask and return at once."""

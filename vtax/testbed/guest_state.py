"""How a guest stands: what its host sees of it, and what its agent answers, which nobody vouches for."""

from typing import Literal

from msgspec import Struct

from vtax.agent_api import GuestStateAnswer, InterfaceState

Condition = Literal["answers", "silent", "ended", "agent died", "misreports"]
"""`silent` runs on, but hangs; of one whose agent died or misreports there is the reason."""


class GuestState(Struct, frozen=True):
    """How a guest stands. The condition is its host's own judgement; there is an answer where that is `answers`."""

    condition: Condition
    answer: GuestStateAnswer | None = None
    reason: str | None = None
    """What the agent did, in words that follow "the agent inside the guest"."""
    last_words: str = ""

    @classmethod
    def told(cls, answer: GuestStateAnswer, last_words: str) -> "GuestState":
        """The state of a guest whose agent answered so."""
        return cls("answers", answer, last_words=last_words)

    @classmethod
    def misreported(cls, answer: str, last_words: str) -> "GuestState":
        """The state of a guest whose agent answered something else than its state."""
        return cls("misreports", reason=f"answered guest.state with {answer}", last_words=last_words)

    @property
    def answers(self) -> bool:
        """Whether it stands."""
        return self.condition == "answers"

    @property
    def interfaces(self) -> list[InterfaceState]:
        """Its interfaces, and what they counted since they were made; none where it does not answer."""
        return self.answer.interfaces if self.answer is not None else []

    @property
    def clock_offset_ns(self) -> int:
        """Time of day less monotonic time; 0 where it does not answer."""
        return self.answer.clock_offset_ns if self.answer is not None else 0

    @property
    def oom_kills(self) -> int | None:
        """Processes that its kernel has killed for want of memory; None where nothing counts them."""
        return self.answer.oom_kills if self.answer is not None else None

    @property
    def ready_macs(self) -> set[str]:
        """The addresses of its interfaces that can carry frames."""
        return {nic.mac for nic in self.interfaces if nic.ready}

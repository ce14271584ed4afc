"""How a guest stands: what its host sees of it, and what its agent answers, which nobody vouches for."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vtax.inputs import one_line

SIGNED_64 = 2**63
Count = Annotated[int, Field(ge=0, lt=SIGNED_64)]
Nanoseconds = Annotated[int, Field(ge=-SIGNED_64, lt=SIGNED_64)]
Condition = Literal["answers", "silent", "ended", "agent died", "misreports"]
"""`silent` runs on, but hangs; of one whose agent died or misreports there is the reason."""
LONGEST_SHOWN = 60


class _Part(BaseModel):
    """Nothing is converted, nothing is left out, and nothing else may be there."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class GuestNic(_Part):
    """An interface of a guest, and what it counted since it was made."""

    interface: str = Field(pattern=r"^[^\x00-\x20\x7f-\xa0/]{1,15}$")
    mac: str = Field(pattern=r"^[0-9a-f]{2}(:[0-9a-f]{2}){5}$")
    ready: bool
    """Up, and with a carrier."""
    received: Count
    sent: Count
    dropped_in: Count
    dropped_out: Count
    dropped_queue: Count


class GuestAnswer(_Part):
    """What a guest's agent answers to `guest.state`."""

    interfaces: list[GuestNic]
    clock_offset_ns: Nanoseconds
    """Time of day less monotonic time."""
    oom_kills: Count | None
    """Processes that its kernel has killed for want of memory; None where it does not count them."""


class GuestState(GuestAnswer):
    """How a guest stands. The condition is its host's own judgement; the answer is empty unless that is `answers`."""

    interfaces: list[GuestNic] = []
    clock_offset_ns: Nanoseconds = 0
    oom_kills: Count | None = None
    condition: Condition
    reason: str | None = None
    """What the agent did, in words that follow "the agent inside the guest"."""
    last_words: str = ""

    @classmethod
    def told(cls, answer: Any, last_words: str) -> Self:
        """Read an agent's answer: one of another shape than it has is the agent's failure."""
        try:
            read = GuestAnswer.model_validate(answer)
        except ValidationError as error:
            return cls.misreported(f"{_shown(answer)} ({_first_problem(error)})", last_words)
        return cls(condition="answers", last_words=last_words, **dict(read))

    @classmethod
    def misreported(cls, answer: str, last_words: str) -> Self:
        """The state of a guest whose agent answered something else than its state."""
        return cls(
            condition="misreports", reason=f"answered guest.state with {answer}", last_words=last_words
        )

    @property
    def answers(self) -> bool:
        """Whether it stands."""
        return self.condition == "answers"

    @property
    def ready_macs(self) -> set[str]:
        """The addresses of its interfaces that can carry frames."""
        return {nic.mac for nic in self.interfaces if nic.ready}


def _shown(answer: Any) -> str:
    text = one_line(repr(answer))
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 3]}..."


def _first_problem(error: ValidationError) -> str:
    detail = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, detail["loc"]))
    return one_line(f"{place}: {detail['msg']}" if place else detail["msg"])

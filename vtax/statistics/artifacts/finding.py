"""What a detector answers: a finding with its evidence, or that the samples are not enough for one."""

from dataclasses import dataclass

UNITS_NS = ((1e9, "s"), (1e6, "ms"), (1e3, "us"))


@dataclass(frozen=True)
class Finding:
    """An artifact that samples may have, with its evidence.

    `p_value` is the chance of evidence at least as strong in samples without the artifact, all that was tried for it
    allowed for. A finding on its own says only what the evidence points to; `detect` says which hold.
    """

    p_value: float

    @property
    def sentence(self) -> str:
        """What was found, for a reader of a report."""
        raise NotImplementedError


@dataclass(frozen=True)
class NotEnough:
    """A detector that had too few samples to say anything: `what` it looks for, and what it `needs`."""

    what: str
    needs: str

    @property
    def sentence(self) -> str:
        """What was not looked for, and what it would take."""
        return f"Not enough samples to look for {self.what}: it takes {self.needs}."


def duration_text(ns: float) -> str:
    """Three digits of a duration in the unit that suits it, with the sign of a shorter one."""
    for unit_ns, unit in UNITS_NS:
        if abs(ns) >= unit_ns:
            return f"{ns / unit_ns:.3g} {unit}"
    return f"{ns:.3g} ns"

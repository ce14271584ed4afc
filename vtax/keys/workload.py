"""What every kind of workload has."""

from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal, NamedTuple

from vtax.agent_api import LONGEST_PHASE_S
from vtax.columns import Column
from vtax.inputs.needs import Need
from vtax.keys.encapsulation import Encapsulation
from vtax.keys.fields import Keys, Scalar, columns_of, key
from vtax.keys.frames import FrameLoad
from vtax.keys.testbed import TestbedSettings


class Refusal(NamedTuple):
    """A value that does not go together with the others: whose it is, and why."""

    section: Literal["workload", "testbed"]
    name: str
    value: Scalar
    problem: str


def shared_uplink(kind: str, testbed: TestbedSettings) -> Iterator[Refusal]:
    """Of a kind whose guests are all behind one link: another testbed."""
    if not testbed.is_shared:
        problem = f"the guests of {kind} workloads are behind one link; allowed: shared"
        yield Refusal("testbed", "uplink", testbed.uplink, problem)


def samples_key(default: int) -> int:
    """The key `cpu_samples_hz` of kinds that sample so often where the scenario does not say."""
    return key(
        "samples of each CPU in a second, for the CPU ledger; 0: CPU time is only counted",
        "0 to 997",
        default=default,
        ge=0,
        le=997,
    )


class WorkloadKeys(Keys):
    """What every kind has; each adds its own keys to these."""

    kind: str
    has_rate: ClassVar[bool] = False
    """Whether it carries something at a rate, which `precision` can be of; else what takes time is timed."""
    recorded: ClassVar[Sequence[Column]] = ()
    """What `trials` has of it beside its keys that name a unit."""

    @classmethod
    def columns(cls) -> Sequence[Column]:
        """What `trials` has of it beside what all trials have."""
        return (*columns_of(cls), *cls.recorded)

    def asked(self) -> dict[str, Scalar | None]:
        """Return what its columns hold before a trial: the values of its keys, null where one does not apply."""
        return {column.name: getattr(self, column.name) for column in columns_of(type(self))}

    @property
    def frame_load(self) -> FrameLoad | None:
        """The frames that each stream has, whose load a search can find; None where it sends none of its own."""
        return None

    def streams_through(self, testbed: TestbedSettings) -> int:
        """How many streams go through the guests of such a testbed, together."""
        return testbed.guests

    @property
    def encapsulation(self) -> Encapsulation:
        """The headers of its frames: what interfaces are set up for, and kernels must be able to forward."""
        return Encapsulation()

    @property
    def protocols(self) -> tuple[str, ...]:
        """Kernel modules that it takes beside those of IPv4."""
        return self.encapsulation.protocols

    @property
    def guests_forward(self) -> bool:
        """Whether guests are routers, between their sources and what is behind them."""
        return True

    @property
    def own_guests(self) -> int | None:
        """How many guests it takes, whatever number the testbed names; None where it takes the testbed's."""
        return None

    @property
    def far_protocols(self) -> tuple[str, ...]:
        """The same of the far ends outside the host: source and sink make their frames themselves."""
        return ()

    @property
    def program_packages(self) -> Sequence[str] | None:
        """The Debian packages that programs of the user's own are of, which it starts; None where it starts none."""
        return None

    @property
    def needs(self) -> Iterator[Need]:
        """What it needs beyond plain traffic, which the user grants."""
        yield from ()

    def own_files(self) -> Sequence[str]:
        """The names of files beside the scenario that trials need."""
        return ()

    @property
    def trials_in_a_row(self) -> int:
        """How often a cell is measured, on one path, before another cell is."""
        return 1

    def refusals(self, testbed: TestbedSettings) -> Iterator[Refusal]:
        """What keeps it from being carried out on such links."""
        yield from ()


class TimedKeys(WorkloadKeys):
    """The keys of kinds whose trials last as long as the scenario says."""

    warmup_s: float = key(
        "traffic before the measurement, discarded",
        f"0 to {LONGEST_PHASE_S}",
        default=1.0,
        ge=0,
        le=LONGEST_PHASE_S,
    )
    duration_s: float = key(
        "length of the measurement", f"0.1 to {LONGEST_PHASE_S}", default=10.0, ge=0.1, le=LONGEST_PHASE_S
    )
    cpu_samples_hz: int = samples_key(0)

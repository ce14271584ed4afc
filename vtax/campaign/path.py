"""A path that frames take: a built testbed with a guest in it, ready to be measured again and again."""

from dataclasses import dataclass
from typing import Any

from vtax.campaign.captures import SNAP_BYTES
from vtax.campaign.sampling import CpuMeter
from vtax.machine.agent import AgentError, AgentGone
from vtax.machine.ownership import OwnershipRecord
from vtax.platforms import PlatformConfig, Preset
from vtax.testbed.local import GUEST, LocalSettings, LocalTestbed

READY_FRAMES = 200
READY_FPS = 1000
READY_LIMIT_S = 10.0
DROP_PLACES = 256
"""How many interfaces and reasons the drop meter tells apart."""
DROPS_METERED_FPS = 100_000
"""More frames a second are not metered: each that the sink takes costs 48 ns, 0.5% of a CPU at this rate."""
READY_TRIAL = 0xFFFFFFFF
"""Trial number that readiness frames carry; trials count from 1."""


class PathFailed(Exception):  # noqa: N818 - it states what the path did
    """The path could not be made ready: what happened, with the guest's last words."""


@dataclass(frozen=True)
class PathFacts:
    """What bringing the path up showed."""

    hello_s: float
    ready_s: float
    sink_mode: str
    """How the sink's program is attached."""
    sink_fallback: str | None
    """Why it is not attached in a way that costs less; None where there is none."""
    sink_cost_ns: float
    no_drop_reasons: str | None
    """Why the kernel does not say why it drops frames; None where it does."""
    no_cpu_samples: str | None
    """Why the machine's CPUs are not sampled; None where they are."""


class Path:
    """Built by `open`, measured by trials, taken down by `close`; `open` again after a guest has died."""

    def __init__(
        self,
        preset: Preset,
        config: PlatformConfig,
        settings: LocalSettings,
        streams: int,
        record: OwnershipRecord,
        capture_frames: int = 0,
    ) -> None:
        self.preset = preset
        self._capture_frames = capture_frames
        self._config = config
        self.testbed = LocalTestbed(settings, streams, record)
        self.cpu_meter = CpuMeter(self.testbed.sink, "sink")
        self._opened_streams = 0
        self._metered: dict[int, str] = {}
        self._metering = False
        self.facts: PathFacts | None = None
        """What opening it showed; None while it is down."""

    def open(self) -> PathFacts:
        """Build everything and wait until it is ready; raises PathFailed, PlatformUnusable, OSError."""
        kind = self.preset.platform()
        self.testbed.build(kind.port)
        uut = self.testbed.uut
        try:
            guest = uut.start_guest(
                GUEST,
                self.preset.kind,
                self._config.model_dump(),
                self.testbed.guest_nics(),
                list(self.testbed.settings.encapsulation.protocols),
            )
            begun = uut.counters([])["at_s"]
            configuration = self.testbed.guest_configuration(guest["modules"])
            uut.call(GUEST, "guest.configure", configuration, timeout_s=30.0)
            sink = self.testbed.sink.call(
                "sink",
                "sink.open",
                {
                    "streams": self.testbed.sink_streams(),
                    "attach": "auto",
                    "capture_frames": self._capture_frames,
                    "snap_bytes": SNAP_BYTES,
                },
            )
            no_drop_reasons = self._try_drop_meter()
            self.cpu_meter.open()
            self.use_streams(len(self.testbed.streams))
            self._wait_ready()
            self._set_egress()
        except (AgentGone, AgentError) as error:
            raise PathFailed(f"{error}\n{uut.last_words(GUEST)}".strip()) from None
        ready_s = guest["hello_s"] + uut.counters([])["at_s"] - begun
        modes = sorted({stream["attached"] for stream in sink["streams"]})
        reasons = sorted({stream["fallback"] for stream in sink["streams"] if stream["fallback"]})
        self.facts = PathFacts(
            guest["hello_s"],
            ready_s,
            "+".join(modes),
            "\n".join(reasons) or None,
            sink["cost_ns_per_frame"],
            no_drop_reasons,
            self.cpu_meter.refused,
        )
        return self.facts

    def use_streams(self, count: int) -> None:
        """Open the source on the first `count` streams."""
        if count == self._opened_streams:
            return
        if self._opened_streams:
            self.testbed.source.call("source", "source.close", {})
        cpu = self.testbed.settings.cpus["agents"][0]
        streams = self.testbed.source_streams(count)
        self.testbed.source.call("source", "source.open", {"cpu": cpu, "streams": streams})
        self._opened_streams = count

    def guest_state(self) -> dict[str, Any]:
        """How the guest stands; see Host.guest_state."""
        return self.testbed.uut.guest_state(GUEST)

    def surroundings(self) -> dict[str, Any]:
        """What else goes on on the UUT's host; see Host.surroundings."""
        return self.testbed.uut.surroundings()

    def owners(self) -> dict[str, dict[int, str]]:
        """Whose the threads and processes of all hosts are; see Host.owners, Host.heirs."""
        owners: dict[str, dict[int, str]] = {"threads": {}, "processes": {}}
        for host in self.testbed.hosts:
            for kind, named in host.owners().items():
                owners[kind] |= named
        owners["processes"] = self.testbed.uut.heirs(owners["processes"])
        return owners

    def meter_drops(self, frames_per_s: float | None) -> None:
        """Have the kernel's drops counted at so many frames a second, or not; None is a flood."""
        wanted = bool(self._metered) and frames_per_s is not None and frames_per_s <= DROPS_METERED_FPS
        if wanted != self._metering:
            self._open_drop_meter() if wanted else self._close_drop_meter()

    def dropped(self) -> dict[str, Any] | None:
        """Test frames that the kernel dropped since they are metered; None where they are not.

        {"places": [{"interface" (host/name), "arrived", "reason", "frames"}], "lost_events"}
        """
        if not self._metering:
            return None
        told = self.testbed.sink.call("sink", "drops.read", {})
        places = [
            {**place, "interface": f"{self._metered[place['netns']]}/{place['interface']}"}
            for place in told["places"]
        ]
        return {"places": places, "lost_events": told["lost_events"]}

    def no_drop_reasons(self) -> str | None:
        """Why nobody says why frames are dropped, in a few words; None where the kernel does."""
        if self._metering:
            return None
        return (
            f"not asked beyond {DROPS_METERED_FPS} frames/s" if self._metered else "this kernel does not tell"
        )

    @property
    def egress_words(self) -> str | None:
        """The queueing discipline that the guest was asked to send through; None for its kernel's own."""
        return self._config.egress_words

    @property
    def uut_cpus(self) -> list[int]:
        """The CPUs of host and guests."""
        cpus = self.testbed.settings.cpus
        return sorted({*cpus["host"], *cpus["guests"]})

    def last_words(self) -> str:
        """The last lines of the guest's console."""
        return self.testbed.uut.last_words(GUEST)

    def close(self) -> None:
        """Take everything down."""
        self._opened_streams = 0
        self._metered = {}
        self._metering = False
        self.facts = None
        self.testbed.close()

    def _set_egress(self) -> None:
        """Have the guest send through the queueing discipline that was asked for; readiness is found without it."""
        if (qdisc := self._config.egress) is not None:
            macs = self.testbed.guest_egress_macs()
            self.testbed.uut.call(GUEST, "guest.set_egress_qdisc", {"macs": macs, "qdisc": qdisc})

    def _try_drop_meter(self) -> str | None:
        """Open the drop meter in all namespaces of the path; returns why not where that cannot be."""
        self._metered = {
            inode: name for host in self.testbed.hosts for name, inode in host.namespaces().items()
        }
        try:
            self._open_drop_meter()
        except AgentError as error:
            self._metered = {}
            return str(error)
        return None

    def _open_drop_meter(self) -> None:
        parameters = {"namespaces": list(self._metered), "places": DROP_PLACES}
        self.testbed.sink.call("sink", "drops.open", parameters)
        self._metering = True

    def _close_drop_meter(self) -> None:
        self.testbed.sink.call("sink", "drops.close", {})
        self._metering = False

    def _wait_ready(self) -> None:
        """Until 200 consecutive frames at 1000 a second arrived on every stream; raises PathFailed after 10 s."""
        deadline = self.testbed.uut.counters([])["at_s"] + READY_LIMIT_S
        while True:
            runs = self._probe()
            short = {stream: run for stream, run in runs.items() if run < READY_FRAMES}
            if not short:
                return
            if self.testbed.uut.counters([])["at_s"] > deadline:
                lacking = ", ".join(f"stream {stream}: {run}" for stream, run in short.items())
                raise PathFailed(
                    f"no {READY_FRAMES} consecutive frames came through within {READY_LIMIT_S:g} s ({lacking})\n"
                    f"{self.last_words()}"
                )

    def _probe(self) -> dict[int, int]:
        duration_s = (READY_FRAMES + 10) / READY_FPS
        frame_bytes = self.testbed.settings.encapsulation.least_frame_bytes
        self.testbed.sink.call(
            "sink", "sink.arm", {"trial": READY_TRIAL, "phase": "probe", "frame_bytes": frame_bytes}
        )
        sent = self.testbed.source.call(
            "source",
            "source.run",
            {
                "trial": READY_TRIAL,
                "frame_bytes": frame_bytes,
                "mechanism": "raw",
                "intended_fps": READY_FPS,
                "probe_fps": READY_FPS,
                "phases": [{"phase": "probe", "duration_s": duration_s}],
            },
        )
        expected = [
            {"stream": stream["stream"], "frames": stream["phases"][0]["frames_sent"]}
            for stream in sent["streams"]
        ]
        got: dict[str, Any] = self.testbed.sink.call(
            "sink", "sink.collect", {"expected": expected, "quiet_ms": 50, "limit_ms": 500}
        )
        return {stream["stream"]: stream["longest_run"] for stream in got["streams"]}

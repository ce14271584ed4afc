"""Kind `program`: a server program of the user's own is timed by a client program of theirs."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Annotated, Final, Literal

from pydantic import Field

from vtax.agent_api import LONGEST_FILE_NAME, LONGEST_PROGRAM_MS, MOST_COMMAND_WORDS, MOST_ITERATIONS
from vtax.columns import Column, ColumnType
from vtax.inputs.needs import Need
from vtax.keys.endpoints import GUEST_TO_PEER, INTRA_HOST
from vtax.keys.fields import Scalar, key, slug
from vtax.keys.testbed import TestbedSettings
from vtax.keys.workload import Refusal, WorkloadKeys

Word = Annotated[str, Field(max_length=4096)]
Argv = Annotated[list[Word], Field(min_length=1, max_length=MOST_COMMAND_WORDS)]
FileName = Annotated[
    str, slug(rf"[A-Za-z0-9_][A-Za-z0-9._-]{{0,{LONGEST_FILE_NAME - 1}}}", "client.py or lighttpd.conf")
]
PackageName = Annotated[str, slug(r"[a-z0-9][a-z0-9.+-]+", "redis-server")]

LONGEST_PROGRAM_S = LONGEST_PROGRAM_MS // 1000
INSIDE: Final = "inside"


class Program(WorkloadKeys):
    """What a client program times of a server program (matthews2009, 5)."""

    recorded = (
        Column("load", ColumnType.STRING, "", "what is timed: program", is_level=True),
        Column("server", ColumnType.STRING, "", "the server's name", is_level=True),
    )
    kind: Annotated[
        Literal["program"], key("a client program times a server program, both the user's own", "program")
    ]
    server: Annotated[
        Argv,
        key(
            "the server's command: a program, or ./NAME of `files`, and its arguments",
            "list of words",
        ),
    ]
    client: Annotated[
        Argv,
        key(
            "the client's, which writes a line for each iteration on standard output: its time in ns, or `failed`",
            "list of words",
        ),
    ]
    ready: Annotated[
        str,
        key(
            "text in a line of the server's, on either of its outputs, that says it is ready",
            "text",
            min_length=1,
            max_length=1000,
        ),
    ]
    files: list[FileName] = key(
        "files beside the scenario that both find in the directory they are started in",
        "plain names, at most 16",
        default_factory=list,
        max_length=16,
    )
    packages: list[PackageName] = key(
        "Debian packages that have the programs: guests with a file system of their own are given them, with all that "
        "they depend on; elsewhere they are named where a program is missing",
        "names",
        default_factory=list,
    )
    placement: Literal["inside", "guest-to-peer", "inter-host", "intra-host"] = key(
        "where the client is, the server being in the guest: in that too, on a bare host over the link, in a guest of "
        "another host over the link, or in a second guest of the same host",
        "inside, guest-to-peer, inter-host, intra-host",
        default=INSIDE,
        short=True,
        unit="",
        laid_for=True,
    )
    port: int = key(
        "the port that the server is to listen on", "1024 to 65535", default=8000, ge=1024, le=65535
    )
    iterations: int = key(
        "iterations of a run",
        f"1 to {MOST_ITERATIONS}",
        default=1000,
        ge=1,
        le=MOST_ITERATIONS,
        short=True,
        unit="iterations",
    )
    runs: int = key(
        "runs in a row, each a trial of its own",
        "1 to 1000",
        default=1,
        ge=1,
        le=1000,
        short=True,
    )
    ready_s: float = key(
        "how long the server may take to be ready",
        f"more than 0, at most {LONGEST_PROGRAM_S}",
        default=10.0,
        gt=0,
        le=LONGEST_PROGRAM_S,
    )
    run_s: float = key(
        "how long a run of the client may take",
        f"more than 0, at most {LONGEST_PROGRAM_S}",
        default=60.0,
        gt=0,
        le=LONGEST_PROGRAM_S,
    )

    def asked(self) -> dict[str, Scalar | None]:
        """Return its keys, and the name of the server's program."""
        return {**super().asked(), "load": "program", "server": PurePath(self.server[0]).name}

    @property
    def guests_forward(self) -> bool:
        """Both ends are end hosts."""
        return False

    @property
    def trials_in_a_row(self) -> int:
        """A run is a trial, so that none is lost with another."""
        return self.runs

    @property
    def program_packages(self) -> Sequence[str] | None:
        """As they are named; starting programs is all it does."""
        return self.packages

    @property
    def needs(self) -> Iterator[Need]:
        """Each command, the files that both find beside them, and the packages that are unpacked for them."""
        for name, argv in (("server", self.server), ("client", self.client)):
            yield Need("programs", f"{name} {shlex.join(argv)}, as nobody", (name,))
        if self.files:
            yield Need("programs", f"files {' '.join(self.files)}, which are kept in the result", ("files",))
        if self.packages:
            yield Need("programs", f"Debian packages {' '.join(self.packages)}", ("packages",))

    @property
    def is_inside(self) -> bool:
        """Whether both programs are in one guest."""
        return self.placement == INSIDE

    @property
    def has_bare_peer(self) -> bool:
        """Whether the client is on a bare host."""
        return self.placement == GUEST_TO_PEER

    @property
    def own_guests(self) -> int:
        """One on the UUT's host, or both ends there."""
        return 2 if self.placement == INTRA_HOST else 1

    def values(self, address: str) -> dict[str, str]:
        """What programs are told: `{name}` in their words, and variables of these names in capitals behind `VTAX_`."""
        return {"address": address, "port": str(self.port), "iterations": str(self.iterations)}

    def own_files(self) -> Sequence[str]:
        """As they are named."""
        return self.files

    def refusals(self, testbed: TestbedSettings) -> Iterator[Refusal]:
        """Links that others share, commands that name what there is not."""
        if testbed.is_shared:
            problem = "the ends of program workloads have a link of their own; allowed: dedicated"
            yield Refusal("testbed", "uplink", testbed.uplink, problem)
        if testbed.has_neighbours:
            problem = "program workloads have no neighbours; allowed: none"
            yield Refusal("testbed", "neighbours", testbed.neighbours, problem)
        for name, argv in (("server", self.server), ("client", self.client)):
            if (wrong := self._problem(argv)) is not None:
                yield Refusal("workload", name, argv[0], wrong)

    def _problem(self, argv: list[str]) -> str | None:
        program = argv[0]
        if program.startswith("./") and program[2:] not in self.files:
            return f'"{program}" is not among the files; allowed: {", ".join(self.files) or "none is named"}'
        if not program or ("/" in program and not program.startswith(("/", "./"))):
            return f'"{program}" is no program; allowed: a name, /PATH, or ./NAME of `files`'
        return None

"""The file that names the testbeds of a campaign, and how Dask reaches them. docs/scale.md is checked against it."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, JsonValue, model_validator

from vtax.inputs import read_document, validate
from vtax.inputs.needs import Need
from vtax.keys.fields import Keys, key
from vtax.results.delivered import NAME

Words = list[Annotated[str, Field(min_length=1)]]
PATH = r"^[A-Za-z0-9_./~+-]+$"
"""It stands in a line of a shell."""
ONE_LINE = r"^[^\r\n]+$"
"""It stands in a line of a job's script."""
Name = Annotated[str, Field(pattern=f"^{NAME}$")]


class Running(Keys):
    """A scheduler that runs already, with a worker a testbed."""

    address: Annotated[
        str, key("the scheduler's address", "tls://HOST:PORT", pattern=r"^tls://[^\s/:]+:\d{1,5}$")
    ]
    certificates: Annotated[
        str,
        key(
            "directory of the certificates that vtax certificates made, beside this file or a whole path",
            "a path",
            min_length=1,
        ),
    ]


class Machine(Keys):
    """The controller of a testbed, reached over SSH by the user's own configuration."""

    address: Annotated[str, key("what ssh is given", "a host of the SSH configuration", min_length=1)]
    python: Annotated[str, key("the Python there that has vtax", "a path", pattern=PATH)]
    control: str | None = key(
        "its own address on the control network; by default where it reaches the controller from",
        "an address",
        default=None,
    )


class Jobs(Keys):
    """Testbeds that a batch system gives, a job each; the certificates go through a shared directory."""

    system: Annotated[Literal["oar", "slurm"], key("the batch system", "oar, slurm")]
    testbeds: Annotated[int, key("jobs that are submitted", "1 to 1000", ge=1, le=1000)]
    cores: int = key("cores of a job", "1 to 1024", default=1, ge=1, le=1024)
    memory: str = key("memory of a job", "as in 4GB", default="4GB", pattern=r"^\d+ ?[MG]B$")
    walltime: Annotated[
        str, key("the longest that a job lasts", "hours:minutes:seconds", pattern=r"^\d+:\d\d:\d\d$")
    ]
    queue: str | None = key("queue, or partition", "text", default=None, pattern=ONE_LINE)
    project: str | None = key("project, or account", "text", default=None, pattern=ONE_LINE)
    resource_spec: str | None = key("what OAR is asked for by -l", "text", default=None, pattern=ONE_LINE)
    directives: Words = key("further lines of the job's head", "texts", default_factory=list)
    prologue: Words = key("lines before the worker starts", "texts", default_factory=list)
    python: str | None = key("the Python there that has vtax", "a path", default=None, pattern=PATH)
    interface: str | None = key(
        "interface of the control network there", "a name", default=None, min_length=1
    )
    shared_directory: Annotated[str, key("directory that all machines see", "a path", min_length=1)]


class TestbedsFile(Keys):
    """Exactly one of `scheduler`, `machines` and `jobs` says where the testbeds are."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    control: str | None = key(
        "this machine's address on the control network, which its scheduler listens on",
        "an address; needed with machines and jobs",
        default=None,
        min_length=1,
    )
    dashboard: bool = key(
        "open Dask's dashboard, without TLS, on the control address", "true, false", default=False
    )
    run_with: Words = key(
        "words before the command that measures a block, for controllers without rights: [sudo, -n]",
        "words of a command",
        default_factory=list,
    )
    testbed: str | None = key(
        "testbed file of the machines that a controller measures on, at the same place on each controller's machine",
        "a path; the controller's own machine by default",
        default=None,
        min_length=1,
    )
    scheduler: Running | None = key("a scheduler that runs already", "the keys below", default=None)
    machines: dict[Name, Machine] | None = key(
        "testbeds' controllers by the testbeds' names", "names and the keys below", default=None, min_length=1
    )
    jobs: Jobs | None = key("testbeds from a batch system", "the keys below", default=None)

    @property
    def needs(self) -> Iterator[Need]:
        """Each machine that is reached, and each command beside vtax that runs there."""
        if self.scheduler is not None:
            yield Need("hosts", f"the scheduler at {self.scheduler.address}")
        for name, machine in (self.machines or {}).items():
            yield Need("hosts", f"{name} is {machine.address} over SSH, where {machine.python} runs")
        if self.jobs is not None:
            runs = f", where {self.jobs.python} runs" if self.jobs.python else ""
            yield Need("hosts", f"{self.jobs.testbeds} of {self.jobs.system}{runs}")
            for line in (*self.jobs.directives, *self.jobs.prologue):
                yield Need("programs", f"{line}, in each job")
        if self.run_with:
            yield Need("programs", f"{shlex.join(self.run_with)}, before the command that measures a block")
        if self.testbed is not None:
            yield Need("hosts", f"those of the file {self.testbed} of each testbed")
            yield Need("interfaces", f"those of the file {self.testbed} of each testbed")

    @model_validator(mode="before")
    @classmethod
    def _one_way(cls, data: JsonValue) -> JsonValue:
        if not isinstance(data, dict):
            return data
        given = [name for name in ("scheduler", "machines", "jobs") if name in data]
        if len(given) != 1:
            said = " and ".join(given) or "nothing"
            raise ValueError(
                f"{said} says where testbeds are; exactly one of scheduler, machines and jobs does"
            )
        if given != ["scheduler"] and not data.get("control"):
            raise ValueError("control is missing: this machine's address on the control network")
        return data


def read_testbeds(path: Path) -> TestbedsFile:
    """The file at `path`; InputError with the position of what is wrong in it. Nothing is started."""
    return validate(TestbedsFile, read_document(path))

"""How a campaign comes to a scheduler and its workers: one that runs, SSH, or a batch system. All speak TLS alone."""

import asyncio
import contextlib
import shlex
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import asyncssh
import dask
import distributed
from dask_jobqueue import JobQueueCluster, OARCluster, SLURMCluster
from distributed import Client, SpecCluster
from distributed.deploy import ssh

from vtax.cluster import nodes
from vtax.cluster.certificates import Certificates, make_certificates
from vtax.cluster.errors import ClusterError
from vtax.cluster.testbeds import Jobs, Machine, Running, TestbedsFile
from vtax.cluster.work import RESOURCE

CONNECT_S = 30.0
"""How long a scheduler may take to answer, and a client to find it again."""
SETTINGS = {**nodes.SCHEDULER_SETTINGS, "distributed.comm.require-encryption": True}

Connect = Callable[[], Client]


@contextlib.contextmanager
def opened(file: TestbedsFile, beside: Path) -> Iterator[Connect]:
    """Whatever the file asks for, up while the block lasts; yields what makes a client. InputError, ClusterError."""
    with dask.config.set(SETTINGS), contextlib.ExitStack() as stack:
        if file.scheduler is not None:
            yield partial(_client_of, file.scheduler, beside)
            return
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vtax-tls-")))
        if file.jobs is not None:
            parent = beside / file.jobs.shared_directory
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vtax-tls-", dir=parent)))
        certificates = make_certificates(directory / "certificates")
        if file.jobs is not None:
            cluster = job_cluster(file, file.jobs, certificates)
            stack.enter_context(cluster)
            cluster.scale(file.jobs.testbeds)
        else:
            with _placed(file.machines or {}, certificates, directory.name) as machines:
                cluster = stack.enter_context(_ssh_cluster(file, machines, certificates))
        security = certificates.security("client")
        yield lambda: Client(cluster.scheduler_address, security=security, timeout=CONNECT_S)


def job_cluster(file: TestbedsFile, jobs: Jobs, certificates: Certificates) -> JobQueueCluster:
    """Testbeds of a batch system; nothing is submitted before it is scaled."""
    cluster = OARCluster if jobs.system == "oar" else SLURMCluster
    own: dict[str, str | None] = (
        {
            "project": jobs.project,
            "resource_spec": jobs.resource_spec,
            "memory_per_core_property_name": "not_applicable",
        }
        if jobs.system == "oar"
        else {"account": jobs.project}
    )
    worker = f"{nodes.Testbed.__module__}.{nodes.Testbed.__name__}"
    arguments = ["--resources", f"{RESOURCE}=1", "--no-dashboard", "--worker-class", worker]
    return cluster(
        cores=jobs.cores,
        memory=jobs.memory,
        processes=1,
        walltime=jobs.walltime,
        queue=jobs.queue,
        python=jobs.python,
        interface=jobs.interface,
        job_extra_directives=jobs.directives,
        job_script_prologue=jobs.prologue,
        worker_extra_args=arguments,
        protocol="tls://",
        security=certificates.security("client", "scheduler", "worker"),
        scheduler_cls=_scheduler_class(file),
        scheduler_options=_scheduler_options(file),
        **own,
    )


def _client_of(running: Running, beside: Path) -> Client:
    certificates = Certificates(beside / running.certificates)
    security = certificates.security("client")
    try:
        return Client(running.address, security=security, timeout=CONNECT_S)
    except OSError as error:
        cause = error.__cause__ or error
        raise ClusterError(
            f"the scheduler at {running.address} cannot be reached with the certificates in {certificates.directory}: "
            f"{cause}"
        ) from None


def _ssh_cluster(
    file: TestbedsFile, machines: dict[str, tuple[Machine, Certificates]], own: Certificates
) -> SpecCluster:
    """The scheduler in this process, and a worker on each machine by Dask's own SSH."""
    workers = {
        name: {
            "cls": ssh.Worker,
            "options": {
                "address": machine.address,
                "connect_options": {},
                "kwargs": nodes.worker_options(name, certificates, machine.control),
                "worker_class": f"{nodes.Nanny.__module__}.{nodes.Nanny.__name__}",
                "remote_python": machine.python,
            },
        }
        for name, (machine, certificates) in machines.items()
    }
    security = own.security("client", "scheduler", "worker")
    scheduler = {
        "cls": _scheduler_class(file),
        "options": {**_scheduler_options(file), "protocol": "tls://", "security": security},
    }
    try:
        return SpecCluster(workers, scheduler, security=security, name="vtax")
    except Exception as error:  # of SSH, or of what it starts
        raise ClusterError(f"not every testbed's controller was started: {error}") from None


@contextlib.contextmanager
def _placed(
    machines: dict[str, Machine], certificates: Certificates, name: str
) -> Iterator[dict[str, tuple[Machine, Certificates]]]:
    """What a worker needs of the certificates is on each machine, for its user's eyes only, while the block lasts."""
    placed = {
        testbed: (machine, Certificates(Path("/tmp") / f"{name}-{testbed}"))  # noqa: S108 - fails where it is there
        for testbed, machine in machines.items()
    }
    made: list[tuple[Machine, str]] = []
    try:
        for machine, there in placed.values():
            directory = shlex.quote(str(there.directory))
            try:
                asyncio.run(_on(machine, f"umask 077 && mkdir {directory}"))
                made.append((machine, directory))
                for path, own in (
                    (there.authority, certificates.authority),
                    (there.of("worker"), certificates.of("worker")),
                ):
                    asyncio.run(_on(machine, f"umask 077 && cat > {shlex.quote(str(path))}", own.read_text()))
            except (OSError, asyncssh.Error) as error:
                raise ClusterError(f"{machine.address} cannot be used over SSH: {error}") from None
        yield placed
    finally:
        for machine, directory in made:
            with contextlib.suppress(OSError, asyncssh.Error):
                asyncio.run(_on(machine, f"rm -r {directory}"))


async def _on(machine: Machine, command: str, text: str = "") -> None:
    """Run a command of the machine's shell."""
    async with asyncssh.connect(machine.address) as connection:
        await connection.run(command, input=text, check=True)


def _scheduler_class(file: TestbedsFile) -> type[distributed.Scheduler]:
    return distributed.Scheduler if file.dashboard else nodes.Scheduler


def _scheduler_options(file: TestbedsFile) -> dict[str, str | int | None]:
    address = f"{file.control}:8787" if file.dashboard else None
    return {"host": file.control, "port": 0, "dashboard": file.dashboard, "dashboard_address": address}

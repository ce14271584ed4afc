"""Dask's scheduler and worker as a campaign has them: no HTTP server, for no port is opened that need not be.

Dask starts one beside its own port, without TLS, whether or not there is a dashboard.
"""

from pathlib import Path

import dask
import distributed
from distributed.comm.addressing import get_address_host, unparse_host_port
from distributed.utils import get_ip
from pydantic import JsonValue

from vtax.cluster.certificates import Certificates
from vtax.cluster.work import RESOURCE

SCHEDULER_SETTINGS = {
    "distributed.scheduler.work-stealing": False,  # a block is handed to a testbed, not to whoever is idle
    "distributed.scheduler.allowed-failures": 0,  # the engine hands it out again
    "distributed.scheduler.worker-ttl": "60s",  # a testbed that is not heard of for so long is gone
}


class Quiet:
    """A node of Dask without an HTTP server."""

    def start_http_server(self, *_arguments: object, **_options: object) -> None:
        """Listen nowhere."""


class Scheduler(Quiet, distributed.Scheduler):  # type: ignore[misc]
    """The scheduler of a campaign, with its settings wherever it is started."""

    def __init__(self, *arguments: object, **options: object) -> None:
        with dask.config.set(SCHEDULER_SETTINGS):
            super().__init__(*arguments, **options)


class Testbed(Quiet, distributed.Worker):  # type: ignore[misc]
    """A testbed's controller: it listens where it is told to, else on the address that it reaches the scheduler from.

    Dask's own listens on every interface where it is not told.
    """

    _start_host: str | None

    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **options)
        if not self._start_host and not self._interface:
            self._start_host = unparse_host_port(get_ip(get_address_host(self.scheduler.address)))


class Nanny(distributed.Nanny):  # type: ignore[misc]
    """Starts a testbed's controller, and starts it again where it dies; its certificate may be removed meanwhile."""

    def __init__(self, *arguments: object, security: dict[str, str | bool], **options: object) -> None:
        read = {
            key: Path(str(value)).read_text() for key, value in security.items() if key.startswith("tls_")
        }
        super().__init__(*arguments, security={**security, **read}, worker_class=Testbed, **options)


def worker_options(name: str, certificates: Certificates, host: str | None = None) -> dict[str, JsonValue]:
    """What the nanny of a testbed is made with, as JSON values: one block at a time, on the control network."""
    return {
        "name": name,
        "nthreads": 1,
        "resources": {RESOURCE: 1},
        "memory_limit": 0,
        "protocol": "tls",
        "security": {
            "require_encryption": True,
            "tls_ca_file": str(certificates.authority),
            "tls_worker_cert": str(certificates.of("worker")),
        },
        **({"host": host} if host is not None else {}),
    }

"""A session at an ESXi host: over TLS whose certificate is verified, always; what goes wrong in a sentence."""

import contextlib
import http.client
import importlib.util
import ssl
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO
from urllib.parse import quote, urlencode

from vtax.inputs import one_line
from vtax.machine.fix import in_tree
from vtax.platforms.contract import PlatformUnusable
from vtax.platforms.esxi.credentials import find_credentials
from vtax.platforms.esxi.interface import ComputeResource, Datacenter, ServiceContent, Stub

ANSWER_LIMIT_S = 20


@dataclass(frozen=True)
class Address:
    """How an ESXi host is reached."""

    host: str
    https_port: int
    ca_file: str | None
    credentials: str

    def trusting(self) -> ssl.SSLContext:
        """What verifies its certificate, and that it names the host; raises PlatformUnusable."""
        try:
            return ssl.create_default_context(cafile=self.ca_file)
        except OSError as error:
            raise PlatformUnusable(
                f"{self.ca_file} holds no certificates: {one_line(str(error))}", "needs a file in PEM"
            ) from None


@dataclass(frozen=True)
class Session:
    """An open session; `content` is what the host calls its service content."""

    address: Address
    content: ServiceContent
    stub: Stub

    @property
    def datacenter(self) -> Datacenter:
        """The only one that a host by itself has."""
        return self.content.rootFolder.childEntity[0]

    @property
    def compute(self) -> ComputeResource:
        """The host's computing resource, with its resource pool and itself."""
        return self.datacenter.hostFolder.childEntity[0]

    def file_request(
        self, method: str, datastore: str, path: str, body: BinaryIO | None = None, length: int = 0
    ) -> bytes:
        """Put or get a file of a datastore over HTTPS; raises OSError."""
        query = urlencode({"dcPath": self.datacenter.name, "dsName": datastore}, quote_via=quote)
        connection = http.client.HTTPSConnection(
            self.address.host,
            self.address.https_port,
            timeout=ANSWER_LIMIT_S,
            context=self.address.trusting(),
        )
        headers = {"Cookie": self.stub.cookie.partition(";")[0], "Content-Length": str(length)}
        with contextlib.closing(connection):
            try:
                connection.request(method, f"/folder/{quote(path)}?{query}", body, headers)
                answer = connection.getresponse()
                content = answer.read()
            except http.client.HTTPException as error:
                raise OSError(f"{method} of {path}: {type(error).__name__}") from None
        if answer.status not in (200, 201):
            raise OSError(f"{method} of {path}: {answer.status} {answer.reason}")
        return content


def check_library() -> None:
    """Look for the library that speaks with hosts; raises PlatformUnusable."""
    if importlib.util.find_spec("pyVmomi") is None:
        fix = in_tree("esxi") or f"{sys.executable} -m pip install pyvmomi keyring"
        raise PlatformUnusable("no pyvmomi, which speaks with ESXi", fix)


@contextlib.contextmanager
def log_in(address: Address) -> Iterator[Session]:
    """A session that is closed again. Raises PlatformUnusable for all that a host or the way to it refuses."""
    check_library()
    from pyVim.connect import Disconnect, SmartConnect  # noqa: PLC0415 - an extra
    from pyVmomi import vmodl  # noqa: PLC0415

    found = find_credentials(address.credentials, address.host)
    # Without a context of ours, the library verifies nothing of a host that is called localhost.
    context = address.trusting()
    try:
        instance = SmartConnect(
            host=address.host,
            port=address.https_port,
            user=found.user,
            pwd=found.password,
            sslContext=context,
            httpConnectionTimeout=ANSWER_LIMIT_S,
        )
    except Exception as error:  # the library raises Exception itself
        raise refusal(address, error) from None
    try:
        content = instance.RetrieveContent()
        if content.about.apiType != "HostAgent":
            raise PlatformUnusable(
                f"{address.host} is {content.about.fullName}, not an ESXi host",
                "needs the ESXi host itself named",
            )
        yield Session(address, content, instance._stub)
    except (vmodl.MethodFault, OSError) as error:
        raise refusal(address, error) from None
    finally:
        with contextlib.suppress(Exception):
            Disconnect(instance)


def refusal(address: Address, error: Exception) -> PlatformUnusable:
    """What went wrong with a host, in a sentence with the next step; no word of it is a secret."""
    host = address.host
    if isinstance(error, ssl.SSLCertVerificationError):
        return PlatformUnusable(
            f"the certificate of {host} is not to be trusted: {error.verify_message}",
            "needs platform.ca_file with the certificate that signed it, and a name that it has",
        )
    fault = type(error).__name__.rpartition(".")[2]
    if fault in FAULTS:
        reason, fix = FAULTS[fault]
        return PlatformUnusable(f"{host} {reason}", fix.format(name=address.credentials))
    if isinstance(error, OSError):
        reason = one_line(error.strerror or str(error) or fault)
        return PlatformUnusable(
            f"{host}, port {address.https_port}: {reason}", "needs an ESXi host that answers there"
        )
    said = one_line(getattr(error, "msg", None) or str(error))
    return PlatformUnusable(f"{host} refused: {said} ({fault})", f"needs a look at {host}")


FAULTS = {
    "InvalidLogin": (
        "refuses this user or password",
        "needs {name}_USER and {name}_PASSWORD as they are there",
    ),
    "NoPermission": (
        "lets this user not do that",
        "needs a role that may make, change and start guests, and write to the datastore",
    ),
    "RestrictedVersion": (
        "has a licence that lets no program change anything",
        "needs one with the interface for programs, such as that of an evaluation",
    ),
}
"""Faults of the interface by name: what a user is told, and the next step."""

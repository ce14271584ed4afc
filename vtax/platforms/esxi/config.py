"""Keys of ESXi's guests: which host, what of it they use, and their hardware."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import unquote

from pydantic import AfterValidator, Field, JsonValue

from vtax.inputs.needs import Need
from vtax.platforms.contract import Argument, Fact, PlatformConfig

ARGUMENT = Argument("host", "HOST")
CREDENTIALS = "VTAX_ESXI"
SERIAL_PORTS = 64
"""How many ports are looked through for one that no guest has."""


def _readable(path: str) -> str:
    if not Path(path).is_file():
        raise ValueError(f"{path} is not there; allowed: a file of certificates in PEM")
    return str(Path(path).resolve())


class Config(PlatformConfig):
    """Keys of ESXi's guests."""

    host: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$",
        max_length=255,
        description="the ESXi host, by a name that its certificate has; what follows the colon in esxi-vmxnet3:HOST",
    )
    https_port: int = Field(443, ge=1, le=65535, description="where it serves its interface")
    ca_file: Annotated[str, AfterValidator(_readable)] | None = Field(
        None,
        description="certificates that its own may be signed by, in PEM; else those that this machine trusts",
    )
    credentials: str = Field(
        CREDENTIALS,
        pattern=r"^[A-Z][A-Z0-9_]{0,63}$",
        description="what the variables NAME_USER and NAME_PASSWORD of the environment begin with",
    )
    datastore: str | None = Field(None, max_length=80, description="where the guest's files go meanwhile")
    port_groups: str = Field(
        "",
        pattern=r"^(\S+( \S+)*)?$",
        max_length=1000,
        description="port groups of its NICs, in and out for each stream; a blank within a name is %20",
    )
    serial_port: int = Field(
        2400,
        ge=1024,
        le=65535 - SERIAL_PORTS,
        description="the first TCP port of the host that a guest's serial line may be at",
    )
    nic_model: Literal["vmxnet3", "e1000", "e1000e"] = Field("vmxnet3", description="the NIC's name in ESXi")
    vcpus: int = Field(1, ge=1, le=16)
    memory_bytes: int = Field(256 << 20, ge=128 << 20, le=64 << 30)

    @classmethod
    def needs(cls, keys: Mapping[str, JsonValue]) -> Iterator[Need]:
        """The host, which is given the user's password."""
        if keys.get("host"):
            variables = f"{keys.get('credentials', CREDENTIALS)}_USER and _PASSWORD"
            detail = f"{keys['host']} over HTTPS, with what {variables} hold"
            yield Need("hosts", detail, ("host", "https_port", "ca_file", "credentials"))

    @property
    def lacking(self) -> str | None:
        """The host, or what of it guests need."""
        if self.host is None:
            return "no ESXi host is named; allowed: esxi-vmxnet3:HOST"
        if self.datastore is None:
            return f"no datastore of {self.host} is named; allowed: --set platform.datastore=NAME"
        if not self.port_groups:
            return (
                f"no port groups of {self.host} are named for its NICs; "
                "allowed: --set 'platform.port_groups=IN OUT'"
            )
        return None

    @property
    def elsewhere(self) -> str | None:
        """Port groups of another machine."""
        return f"at port groups of {self.host or 'an ESXi host'}"

    @property
    def networks(self) -> list[str]:
        """The port groups as the host calls them."""
        return [unquote(name) for name in self.port_groups.split()]

    @property
    def facts(self) -> dict[str, Fact]:
        """What the probe states of the keys."""
        keys = ("host", "datastore", "port_groups", "nic_model")
        return {key: getattr(self, key) for key in keys}

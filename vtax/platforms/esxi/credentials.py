"""Who vtax is for an ESXi host: user and password of the environment, else of the keyring. They are kept nowhere."""

import os
from dataclasses import dataclass, field

from vtax.platforms.contract import PlatformUnusable


@dataclass(frozen=True)
class Credentials:
    """A user and a password, which nothing shows."""

    user: str
    password: str = field(repr=False)


def find_credentials(variables: str, host: str) -> Credentials:
    """Those of the variables that begin with `variables`, else the keyring's; raises PlatformUnusable."""
    user, password = os.environ.get(f"{variables}_USER"), os.environ.get(f"{variables}_PASSWORD")
    if user and password:
        return Credentials(user, password)
    if (found := _of_keyring(host, user)) is None:
        raise PlatformUnusable(
            f"no user and password for {host}",
            f"needs {variables}_USER and {variables}_PASSWORD in the environment, or both in the keyring as of "
            f"the service 'vtax {host}'",
        )
    return found


def _of_keyring(host: str, user: str | None) -> Credentials | None:
    """The keyring's for the service `vtax HOST`; None where it has none, or there is no keyring."""
    try:
        import keyring  # noqa: PLC0415 - an extra
        from keyring.errors import KeyringError  # noqa: PLC0415
    except ImportError:
        return None
    try:
        found = keyring.get_credential(f"vtax {host}", user)
    except KeyringError:
        return None
    return Credentials(found.username, found.password) if found is not None else None

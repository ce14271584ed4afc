"""Certificates of one campaign: who has one of them takes part in it, and nobody else does.

The key that signs them is never written down: further ones cannot be made.
"""

import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from distributed.security import Security

from vtax.inputs import InputError

VALID_FOR = timedelta(days=90)
"""The longest that a campaign may last."""
ROLES = ("client", "scheduler", "worker")
"""The controller, the scheduler, and the testbeds."""


@dataclass(frozen=True)
class Certificates:
    """A directory with ca.pem and a file a role, which holds its certificate and key."""

    directory: Path

    @property
    def authority(self) -> Path:
        """What all of them are checked against, by either side."""
        return self.directory / "ca.pem"

    def of(self, role: str) -> Path:
        """The certificate and the key of a role."""
        return self.directory / f"{role}.pem"

    def security(self, *roles: str) -> Security:
        """How Dask speaks in these roles: TLS 1.2 or later, both ways checked. InputError where a file is missing."""
        for path in (self.authority, *map(self.of, roles)):
            if not os.access(path, os.R_OK):
                raise InputError(
                    f"{path}: cannot be read; vtax certificates {self.directory} makes those of a campaign"
                )
        files = {f"tls_{role}_{what}": str(self.of(role)) for role in roles for what in ("cert", "key")}
        return Security(require_encryption=True, tls_ca_file=str(self.authority), **files)


def make_certificates(directory: Path) -> Certificates:
    """Make an authority and a certificate a role in a new directory, for its owner's eyes only.

    Raises InputError where the directory is there and not empty.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if any(directory.iterdir()):
        raise InputError(f"{directory}: not empty; certificates are made in a directory of their own")
    made = Certificates(directory)
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("vtax campaign")
    authority = (
        _builder(name, name, key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    _write(made.authority, authority.public_bytes(serialization.Encoding.PEM))
    both = [ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]
    for role in ROLES:
        own = ec.generate_private_key(ec.SECP256R1())
        certificate = (
            _builder(_name(f"vtax {role}"), name, own.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(both), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False
            )
            .sign(key, hashes.SHA256())
        )
        private = own.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        _write(made.of(role), certificate.public_bytes(serialization.Encoding.PEM) + private)
    return made


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))  # clocks differ
        .not_valid_after(now + VALID_FOR)
    )


def _usage(signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def _write(path: Path, content: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)

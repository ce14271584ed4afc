"""Who is heard in a campaign over testbeds: whoever has one of its certificates, and nobody else."""

import contextlib
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.cluster_campaigns import assert_whole, finish, scenario_of, start
from tests.helpers.testbeds import CONTROL, PORT, Ground, Node, ground_of, wait_for
from vtax.cluster.certificates import Certificates, make_certificates
from vtax.results import Result

pytestmark = [pytest.mark.system, pytest.mark.cluster, pytest.mark.timeout(600)]

TLS_ALERT = b"\x15"
"""The first byte of a record that refuses (RFC 8446, section 5.1)."""


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with ground_of("a", tmp_path_factory.mktemp("ground")) as made:
        for node in (made.scheduler, made.testbeds["a"]):
            wait_for(f"{node}", lambda node=node: node.listening)
        yield made


def credulous(certificates: Certificates | None) -> ssl.SSLContext:
    """A client that believes whoever answers, so that it is the node that refuses."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if certificates is not None:
        context.load_cert_chain(certificates.of("client"))
    return context


def greeting(ground: Ground, node: Node, context: ssl.SSLContext | None) -> bytes:
    """The first that a node of Dask says to whoever connects: over TLS, or to somebody without."""
    (address,) = node.listening

    def connect() -> bytes:
        with socket.create_connection(address, timeout=60) as plain:
            if context is None:
                plain.sendall(b"GET / HTTP/1.1\r\n\r\n")
                with contextlib.suppress(ConnectionResetError):
                    return plain.recv(100)
                return b""
            with context.wrap_socket(plain) as secure:
                return secure.recv(100)

    return ground.control.run(connect)


@pytest.mark.parametrize("name", ["scheduler", "testbed"])
def test_a_node_hears_its_own_campaign_alone(ground: Ground, name: str, tmp_path: Path) -> None:
    node = ground.scheduler if name == "scheduler" else ground.testbeds["a"]
    assert node is not None
    assert greeting(ground, node, credulous(ground.certificates)), "its own are heard"
    for other in (None, make_certificates(tmp_path / "others")):
        with pytest.raises(ssl.SSLError, match="ALERT"):
            greeting(ground, node, credulous(other))
    without_tls = greeting(ground, node, None)
    assert without_tls[:1] in (b"", TLS_ALERT), without_tls


def test_nodes_listen_on_the_control_network_alone(ground: Ground) -> None:
    assert ground.scheduler is not None
    assert ground.scheduler.listening == [(CONTROL, PORT)]
    testbed = ground.testbeds["a"]
    assert [address for address, _ in testbed.listening] == [testbed.address]


def test_a_wrong_certificate(ground: Ground, tmp_path: Path) -> None:
    """Neither a controller nor a worker with certificates of another campaign takes part in this one."""
    others, out = make_certificates(tmp_path / "others"), tmp_path / "out"
    scenario = scenario_of(4, tmp_path)
    refused = ground.vtax("run", scenario, "--testbeds", ground.write_file(others), "--out", out)
    _, errors = refused.communicate(timeout=400)
    assert refused.returncode == 1, errors
    assert f"cannot be reached with the certificates in {others.directory}" in errors
    assert not out.exists()
    ground.start_testbed("f", others)
    try:
        wait_for(
            "its refusal", lambda: "CERTIFICATE_VERIFY_FAILED" in (ground.directory / "f.log").read_text()
        )
        finish(start(ground, scenario, out))
        assert_whole(ground, out, 4)
        assert "f" not in Result.open(out).campaign["testbeds"]
    finally:
        ground.end_testbed("f")

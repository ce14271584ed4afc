"""What a campaign over testbeds is made of: its file, certificates and jobs, and what is refused before it starts."""

import contextlib
import io
import os
import re
import signal
import ssl
import stat
import subprocess
import tempfile
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncssh
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from tests.helpers.paths import ROOT
from vtax.campaign import Resumed
from vtax.cli import main
from vtax.cluster import clusters, testbeds
from vtax.cluster.certificates import ROLES, make_certificates
from vtax.cluster.clusters import job_cluster
from vtax.cluster.collect import ARRIVED, begin, check_going_on, go_on, order_of, take
from vtax.cluster.errors import ClusterError
from vtax.cluster.run import run
from vtax.cluster.work import _begin, pack, unpack
from vtax.inputs import InputError, allowed
from vtax.results import Result, ResultWriter, TrialRecord
from vtax.scenario import load_scenario
from vtax.terminal import LineProgress

JOBS = """
control: 127.0.0.1
jobs:
  system: {system}
  testbeds: 3
  cores: 4
  walltime: "12:00:00"
  queue: default
  project: taxes
  directives: ["{directive}"]
  prologue: ["module load vtax"]
  python: /opt/vtax/bin/python
  interface: eno1
  shared_directory: {shared}
"""


def read(text: str, directory: Path) -> testbeds.TestbedsFile:
    path = directory / "testbeds.yaml"
    path.write_text(text)
    return testbeds.read_testbeds(path)


def test_only_their_owner_reads_certificates(tmp_path: Path) -> None:
    made = make_certificates(tmp_path / "own")
    assert stat.S_IMODE(made.directory.stat().st_mode) == 0o700
    files = [made.authority, *map(made.of, ROLES)]
    assert sorted(made.directory.iterdir()) == sorted(files)
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert "PRIVATE KEY" not in made.authority.read_text()
    with pytest.raises(InputError, match="not empty"):
        make_certificates(made.directory)


def test_each_role_has_a_key_of_its_own_for_90_days(tmp_path: Path) -> None:
    """The authority's is in no file: who reads all of these makes no further certificate."""
    made = make_certificates(tmp_path / "own")
    now = datetime.now(UTC)
    paths = [made.authority, *map(made.of, ROLES)]
    certificates = [x509.load_pem_x509_certificate(path.read_bytes()) for path in paths]
    public = [public_bytes(certificate.public_key()) for certificate in certificates]
    assert len({*public}) == len(paths)
    for role, certified in zip(ROLES, public[1:], strict=True):
        content = made.of(role).read_bytes()
        assert content.count(b"PRIVATE KEY-----") == 2, "one begins and ends"
        key = serialization.load_pem_private_key(content, None)
        assert public_bytes(key.public_key()) == certified
    for certificate in certificates:
        assert abs(certificate.not_valid_after_utc - now - timedelta(days=90)) < timedelta(minutes=1)
        assert abs(now - certificate.not_valid_before_utc - timedelta(hours=1)) < timedelta(minutes=1)


def public_bytes(key: object) -> bytes:
    """A public key, to be compared."""
    assert hasattr(key, "public_bytes")
    content = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    assert isinstance(content, bytes)
    return content


@pytest.mark.slow
def test_each_certificate_is_of_its_campaign(tmp_path: Path) -> None:
    made, other = make_certificates(tmp_path / "own"), make_certificates(tmp_path / "other")
    for role in ROLES:
        for purpose in ("sslclient", "sslserver"):
            verify = ["openssl", "verify", "-x509_strict", "-purpose", purpose, "-CAfile"]
            for authority, holds in ((made.authority, True), (other.authority, False)):
                done = subprocess.run([*verify, authority, made.of(role)], check=False, capture_output=True)
                assert (done.returncode == 0) is holds, done.stderr


def test_both_sides_are_checked(tmp_path: Path) -> None:
    security = make_certificates(tmp_path / "own").security("client")
    context = security.get_connection_args("client")["ssl_context"]
    assert security.require_encryption
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2


def test_certificates_that_are_not_there_are_named(tmp_path: Path) -> None:
    made = make_certificates(tmp_path / "own")
    made.of("client").unlink()
    with pytest.raises(InputError, match=f"{made.of('client')}: cannot be read; vtax certificates"):
        made.security("client")


@pytest.mark.parametrize(
    ("system", "directive", "lines"),
    [
        ("oar", "-p cluster='gros'", ["#OAR -q default", "#OAR --project taxes", "#OAR -p cluster='gros'"]),
        ("slurm", "--exclusive", ["#SBATCH -p default", "#SBATCH -A taxes", "#SBATCH --exclusive"]),
    ],
)
def test_a_job_is_a_testbed(system: str, directive: str, lines: list[str], tmp_path: Path) -> None:
    """The script alone: no batch system is here that would run it."""
    file = read(JOBS.format(system=system, directive=directive, shared=tmp_path), tmp_path)
    assert file.jobs is not None
    certificates = make_certificates(tmp_path / "own")
    with job_cluster(file, file.jobs, certificates) as cluster:
        script = cluster.job_script().splitlines()
        address = cluster.scheduler_address
        assert cluster.scheduler.services == {}
    assert address.startswith("tls://127.0.0.1:")
    assert set(lines) <= set(script)
    assert any("12:00:00" in line and line.startswith("#") for line in script)
    assert "module load vtax" in script
    (command,) = [line for line in script if line.startswith("/opt/vtax/bin/python")]
    assert command.startswith(f"/opt/vtax/bin/python -m distributed.cli.dask_worker {address} ")
    for words in (
        "--nthreads 4",
        "--nanny",
        "--resources testbed=1",
        "--no-dashboard",
        "--worker-class vtax.cluster.nodes.Testbed",
        "--interface eno1",
        "--protocol tls://",
        f"--tls-ca-file {certificates.authority}",
        f"--tls-cert {certificates.of('worker')}",
        f"--tls-key {certificates.of('worker')}",
    ):
        assert f" {words}" in command
    assert "PRIVATE" not in "\n".join(script)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("control: 10.0.0.1", "nothing says where testbeds are"),
        ("scheduler: {address: 'tcp://10.0.0.1:1', certificates: c}", "tcp://10.0.0.1:1"),
        ("machines: {a: {address: a, python: /p}}", "control is missing"),
        ("control: 10.0.0.1\nmachines: {'a b': {address: a, python: /p}}", "a b"),
        ("control: 10.0.0.1\nmachines: {a: {address: a}}", 'key "python" is missing'),
        ("control: 10.0.0.1\nmachines: {a: {address: a, python: /p}}\njobs: {system: pbs}", "exactly one"),
        ("control: 10.0.0.1\njobs: {system: pbs}", "allowed: oar, slurm"),
    ],
)
def test_a_file_that_is_wrong_is_refused(text: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        read(text, tmp_path)
    assert problem in str(refused.value)
    assert str(tmp_path / "testbeds.yaml") in str(refused.value)


def test_what_is_no_result_is_not_unpacked(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no packed result"):
        unpack(b"nothing", tmp_path)


def test_a_delivery_lands_in_its_directory_alone(tmp_path: Path) -> None:
    outside = tmp_path / "absolute"
    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(buffer := io.BytesIO(), "w") as packed:
        for name in ("../out", str(outside), "a/../../b", "..\\..\\c", "whole"):
            packed.writestr(name, name)
        packed.writestr(link, "..")
        packed.writestr("link/through", "through a link")
    directory = tmp_path / "arrived/part"
    directory.mkdir(parents=True)
    with contextlib.suppress(OSError):  # of what is below a link, which is a file here
        unpack(buffer.getvalue(), directory)
    everything = [path for path in tmp_path.rglob("*") if path.is_symlink() or not path.is_dir()]
    assert everything
    assert [path for path in everything if not path.is_relative_to(directory)] == []
    assert [path for path in everything if path.is_symlink() or not path.is_file()] == []
    assert (directory / "whole").read_text() == "whole"
    assert (directory / "link").read_text() == ".."


@pytest.fixture
def machine_here(monkeypatch: pytest.MonkeyPatch) -> testbeds.Machine:
    """A machine whose shell is this one's, where all that is made is everybody's unless a command says otherwise."""

    async def on(machine: testbeds.Machine, command: str, text: str = "") -> None:
        done = subprocess.run(
            ["sh", "-c", command], input=text, text=True, check=False, capture_output=True, umask=0
        )
        if done.returncode:
            raise asyncssh.Error(done.returncode, done.stderr)

    monkeypatch.setattr(clusters, "_on", on)
    return testbeds.Machine(address="g.invalid", python="python3")


def test_on_a_machine_only_its_user_reads_a_key_and_none_stays(
    machine_here: testbeds.Machine, tmp_path: Path
) -> None:
    own = make_certificates(tmp_path / "own")
    name = str(tmp_path / "placed")
    for failure in (None, KeyboardInterrupt):
        with (
            contextlib.suppress(KeyboardInterrupt),
            clusters._placed({"g": machine_here}, own, name) as placed,
        ):
            _, there = placed["g"]
            modes = {
                path.name: stat.S_IMODE(path.stat().st_mode)
                for path in (there.directory, *there.directory.iterdir())
            }
            assert modes == {"placed-g": 0o700, "ca.pem": 0o600, "worker.pem": 0o600}
            assert there.of("worker").read_text() == own.of("worker").read_text()
            if failure:
                raise failure
        assert not there.directory.exists()


def test_no_key_is_put_where_somebody_waits_for_it(machine_here: testbeds.Machine, tmp_path: Path) -> None:
    """Anybody may make directories and links in /tmp; what they have planted stays theirs."""
    own = make_certificates(tmp_path / "own")
    waiting = tmp_path / "waiting"
    waiting.mkdir(mode=0o777)
    (tmp_path / "linked-g").symlink_to(waiting)
    (tmp_path / "made-g").mkdir()
    for name in ("linked", "made"):
        with (
            pytest.raises(ClusterError, match=r"g\.invalid cannot be used over SSH"),
            clusters._placed({"g": machine_here}, own, str(tmp_path / name)),
        ):
            pytest.fail("it went on")
        assert not list((tmp_path / f"{name}-g").iterdir())


def test_bad_input_starts_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "testbeds.yaml", tmp_path / "out"
    file.write_text("scheduler: {address: 'tls://127.0.0.1:1', certificates: none}")
    run = ["run", "quick", "--testbeds", str(file), "--allow", "hosts"]
    assert main([*run, "--blocks", "0"]) == 2
    assert "--blocks, --testbed: with --testbeds" in capsys.readouterr().err
    assert main([*run, "--out", str(out)]) == 2
    assert f"{tmp_path}/none/ca.pem: cannot be read" in capsys.readouterr().err
    assert main(["run", "quick", "--testbeds", str(tmp_path / "nowhere.yaml"), "--out", str(out)]) == 2
    assert not out.exists()


def test_precision_is_for_one_testbed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, scenario = tmp_path / "testbeds.yaml", tmp_path / "own.yaml"
    file.write_text("scheduler: {address: 'tls://127.0.0.1:1', certificates: none}")
    scenario.write_text(
        "{name: own/a, title: a, question: b, repetitions: 10, precision: {relative_width: 0.1}, "
        "workload: {kind: forwarding, warmup_s: 0, duration_s: 1, frame_bytes: 64}, testbed: {link_mbps: 1000}, "
        "factors: {platform: [raw], intended_mbps: [5]}}"
    )
    assert main(["run", str(scenario), "--testbeds", str(file)]) == 2
    assert "precision goes by all trials of a cell" in capsys.readouterr().err


def rows() -> list[str]:
    """A row a key of the file, as docs/scale.md has them."""
    found = []
    models = (testbeds.TestbedsFile, testbeds.Running, testbeds.Machine, testbeds.Jobs)
    for prefix, model in zip(("", "scheduler.", "machines.NAME.", "jobs."), models, strict=True):
        for name, field in model.model_fields.items():
            given = field.get_default(call_default_factory=True)
            shown = str(given).lower() if isinstance(given, bool) else str(given)
            default = "required" if field.is_required() else "" if given in (None, []) else f"`{shown}`"
            found.append(f"| `{prefix}{name}` | {allowed(field)} | {default} | {field.description} |")
    return found


def test_docs_have_every_key() -> None:
    page = (ROOT / "docs" / "scale.md").read_text().splitlines()
    assert [line for line in page if line.startswith("| `")] == rows()


def test_the_examples_of_the_docs_are_files(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "scale.md").read_text()
    examples = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    ways = [read(example, tmp_path).model_dump(exclude_none=True).keys() for example in examples]
    assert [way & {"scheduler", "machines", "jobs"} for way in ways] == [
        {"scheduler"},
        {"machines"},
        {"jobs"},
    ]


def test_what_arrives_is_committed_once(tmp_path: Path) -> None:
    scenario, out = load_scenario("quick"), tmp_path / "out"
    file = read("scheduler: {address: 'tls://10.0.0.1:1', certificates: c}", tmp_path)
    with begin(out, scenario, 7) as writer:
        order = order_of(writer, scenario, file)
        manifest = {**order["manifest"], "status": "complete", "blocks": [1], "hosts": {"local": {}}}
        with ResultWriter.create(tmp_path / "block", manifest) as testbed:
            testbed.commit(TrialRecord({"trial_id": 1, "block": 1, "cell": "c", "verdict": "valid"}))
        content = pack(tmp_path / "block")
        for spoilt, why in ((content[:-30], "no packed result"), (content[:99], "no packed result")):
            with pytest.raises(ValueError, match=why):
                take(writer, 1, "a", spoilt)
        with pytest.raises(ValueError, match="block 0 is not whole"):
            take(writer, 0, "a", content)
        assert take(writer, 1, "a", content)["trial_id"].to_pylist() == [1_000_001]
        with pytest.raises(ValueError, match="block 1 has been merged already"):
            take(writer, 1, "b", content)
    (out / f"{ARRIVED}x").mkdir()
    with go_on(out) as writer:
        assert (writer.blocks, order_of(writer, scenario, file)) == ({1}, order)
    assert not list(out.glob(f"{ARRIVED}*"))
    assert list(Result.open(out).campaign["testbeds"]) == ["a"]


def test_a_result_of_one_machine_is_not_gone_on_with(tmp_path: Path) -> None:
    one, several = tmp_path / "one", tmp_path / "several"
    manifest = {"name": "quick", "factors": [], "scenario": load_scenario("quick").resolved(), "seed": 1}
    ResultWriter.create(one, manifest).close()
    begin(several, load_scenario("quick"), 1).close()
    with pytest.raises(InputError, match="leave out --testbeds"):
        check_going_on(Resumed.read(one).result.campaign, one)
    stored = Resumed.read(several)
    check_going_on(stored.result.campaign, several)
    with pytest.raises(InputError, match='holds a campaign of "quick", not of "schlosser2011/dedicated"'):
        stored.check_same(load_scenario("schlosser2011/dedicated"), of_testbeds=True)
    with pytest.raises(InputError, match="add --testbeds FILE"):
        stored.check_same(load_scenario("quick"), of_testbeds=False)
    with pytest.raises(InputError, match="its vtax version is 0, not"):
        check_going_on({**stored.result.campaign, "vtax_version": "0"}, several)
    with pytest.raises(InputError, match="leave out --testbeds"):  # no testbed removes what this names
        check_going_on({**stored.result.campaign, "campaign_id": "../../.."}, several)


def test_a_block_is_in_the_hands_of_its_owner_whatever_the_umask(tmp_path: Path) -> None:
    scenario = load_scenario("quick")
    file = read("scheduler: {address: 'tls://10.0.0.1:1', certificates: c}", tmp_path)
    earlier = os.umask(0)
    try:
        with begin(tmp_path / "out", scenario, 7) as writer:
            order = order_of(writer, scenario, file)
        _begin(tmp_path / "block", order, 1)
    finally:
        os.umask(earlier)
    with pytest.raises(InputError, match="may be written by everybody"):
        Resumed.read(tmp_path / "out")
    assert Resumed.read(tmp_path / "block").blocks == [1]


def test_nothing_is_done_for_a_complete_campaign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario, out = load_scenario("quick").override(repetitions=1), tmp_path / "out"
    with begin(out, scenario, 7) as writer:
        file = read("scheduler: {address: 'tls://10.0.0.1:1', certificates: c}", tmp_path)
        manifest = order_of(writer, scenario, file)["manifest"]
        with ResultWriter.create(tmp_path / "block", {**manifest, "status": "complete"}) as testbed:
            for number, cell in enumerate(scenario.cells()):
                trial = {"trial_id": number + 1, "block": 0, "cell": cell.key, "verdict": "valid"}
                testbed.commit(TrialRecord(trial))
        take(writer, 0, "a", pack(tmp_path / "block"))
        writer.update(status="complete")
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    monkeypatch.setattr("vtax.cluster.run.opened", lambda *_: pytest.fail("testbeds were asked"))
    testbeds_file = str(tmp_path / "testbeds.yaml")
    asked = ["run", "quick", "--repetitions", "1", "--testbeds", testbeds_file, "--resume", str(out)]
    assert main(asked) == 0
    assert "the campaign is complete" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def test_a_signal_ends_a_campaign_as_an_interrupt_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys are made on the way to the testbeds, and go with whoever made them."""
    kept = tmp_path / "tmp"
    kept.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(kept))
    monkeypatch.setattr(clusters, "_placed", lambda *_: contextlib.nullcontext({}))

    def end(*_: object) -> None:
        assert list(kept.glob("*/certificates"))
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(clusters, "_ssh_cluster", end)
    file = tmp_path / "testbeds.yaml"
    file.write_text("control: 127.0.0.1\nmachines: {g: {address: g.invalid, python: python3}}\n")
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        run(load_scenario("quick"), file, allow={"hosts"}, progress=LineProgress(io.StringIO()))
    assert not list(kept.iterdir())
    assert signal.getsignal(signal.SIGTERM) is before

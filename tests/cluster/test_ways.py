"""The ways of a testbeds file that start controllers themselves: over SSH, and by a batch system."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.campaigns import wait_for_line
from tests.helpers.cluster_campaigns import ARRIVED, assert_whole, finish, scenario_of
from tests.helpers.rack import rack
from tests.helpers.testbeds import CONTROL, PORT, Ground, ground_of, wait_for
from vtax.results import Result

pytestmark = [pytest.mark.system, pytest.mark.cluster, pytest.mark.timeout(600)]

DASHBOARD = 8787
NODE = 'while :; do read -r script < "$0"; setsid sh "$script" & echo $! > "$0.job"; done'
"""A machine of a batch system: it starts what is written to its pipe, as a session of its own."""
SBATCH = """#!/bin/sh -e
for node in {nodes}; do
    mkdir "$node.taken" 2> {log} || continue
    cp "$1" "$node.script"
    echo "$node.script" > "$node"
    while ! test -s "$node.job"; do sleep 0.05; done
    echo "Submitted batch job $(cat "$node.job")"
    exit
done
echo "every machine is taken" >&2
exit 1
"""
SCANCEL = "#!/bin/sh\nexec kill -TERM -- -$1\n"


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with ground_of("", tmp_path_factory.mktemp("ground")) as made:
        yield made


def assert_listens_on_the_control_network_alone(ground: Ground) -> set[int]:
    """Nodes of the campaign listen on their own addresses there; the ports of the controller's, but the ground's."""
    for testbed in ground.testbeds.values():
        assert testbed.listening
        assert {address for address, _ in testbed.listening} == {testbed.address}
    assert ground.scheduler is not None
    assert {address for address, _ in ground.scheduler.listening} == {CONTROL}
    return {port for _, port in ground.scheduler.listening} - {PORT}


def test_testbeds_of_several_machines_over_ssh(ground: Ground, tmp_path: Path) -> None:
    """Dask's SSH starts the controllers, and they reach the machines of their racks over SSH of their own.

    They find no certificate on their disks when they run.
    """
    names, out, file = ("g", "h"), tmp_path / "out", tmp_path / "testbeds.yaml"
    machines = {name: {"address": name, "python": sys.executable} for name in names}
    temporary = Path("/tmp")  # noqa: S108 - there, on either side
    before = set(temporary.glob("vtax-tls-*"))
    with contextlib.ExitStack() as undo:
        racks = {}
        for name in names:
            (tmp_path / name).mkdir()
            racks[name] = undo.enter_context(rack(tmp_path / name))
            testbed = ground.start_machine(name, racks[name].directory)
            undo.callback(ground.end_testbed, name)
            racks[name].connect(testbed.namespace, "to-lab", "lab", 101)
        file.write_text(
            json.dumps({"control": CONTROL, "machines": machines, "testbed": str(racks["g"].testbed)})
        )
        process = ground.vtax("run", scenario_of(3, tmp_path), "--testbeds", file, "--out", out)
        wait_for_line(process, ARRIVED)
        assert not set(temporary.glob("vtax-tls-*-[gh]")) - before
        assert len(assert_listens_on_the_control_network_alone(ground)) == 1
        finish(process)
        assert_whole(ground, out, 3)
        told = Result.open(out).campaign["testbeds"]
        machines_of = {name: set(testbed["file"]["machines"]) for name, testbed in told.items()}
        assert machines_of == {name: set(made.processes) for name, made in racks.items()}
        assert set(temporary.glob("vtax-tls-*")) == before
        assert all(rack.settles() for rack in racks.values())
        for name in names:
            wait_for("controllers end", lambda name=name: not ground.testbeds[name].below("dask_spec"))


def test_testbeds_that_are_jobs(ground: Ground, tmp_path: Path) -> None:
    """Job scripts as Slurm would run them, on machines that stand in for Slurm's; with a dashboard."""
    out, file = tmp_path / "out", tmp_path / "testbeds.yaml"
    commands, shared = tmp_path / "commands", tmp_path / "shared"
    commands.mkdir()
    shared.mkdir()
    nodes = [tmp_path / name for name in ("i", "j")]
    scripts = {
        "sbatch": SBATCH.format(nodes=" ".join(map(str, nodes)), log=tmp_path / "log"),
        "scancel": SCANCEL,
    }
    for name, text in scripts.items():
        (commands / name).write_text(text)
        (commands / name).chmod(0o755)
    jobs = {
        "system": "slurm",
        "testbeds": len(nodes),
        "walltime": "0:10:00",
        "python": sys.executable,
        "interface": "control",
        "shared_directory": str(shared),
    }
    file.write_text(json.dumps({"control": CONTROL, "dashboard": True, "jobs": jobs}))
    try:
        for node in nodes:
            subprocess.run(["mkfifo", node], check=True)
            ground.start_host(node.name, lambda _address, node=node: ["sh", "-c", NODE, str(node)])
        process = ground.vtax(
            "run", scenario_of(3, tmp_path), "--testbeds", file, "--out", out, commands=commands
        )
        wait_for_line(process, ARRIVED)
        ports = assert_listens_on_the_control_network_alone(ground)
        assert (DASHBOARD in ports, len(ports)) == (True, 2)
        finish(process)
        assert_whole(ground, out, 3)
        assert len(Result.open(out).campaign["testbeds"]) == len(nodes)
        assert list(shared.iterdir()) == []
        for node in nodes:
            wait_for("jobs end", lambda node=node: not ground.testbeds[node.name].below("dask_worker"))
    finally:
        for node in nodes:
            if node.name in ground.testbeds:
                ground.end_testbed(node.name)

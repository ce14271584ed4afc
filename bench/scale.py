"""Time and memory of the commands that show results, on the largest ones that are meant to be shown."""

from pathlib import Path

from bench import large_mesh, large_result, report_page
from bench.figure import Figure, Section

LONGEST_S, LARGEST_GB = 30.0, 2.0
LONGEST_MESH_S, LARGEST_MESH_GB = 20.0, 1.0

TEXT = f"""
Two results of a million trials (a thousand cells, {large_result.SAMPLES} samples of delay a trial) and one of
{len(large_mesh.PLATFORMS)} x {large_mesh.SHAPE[0]} x {large_mesh.SHAPE[1]:,} rounds of relays, all of them made: each
command once, in a process of its own, reading and the interpreter's start included. Memory is the process's largest.
A report's page is opened in Chromium at its first figure, and drawn when what is in view is, and when the last of all
figures is.
"""


def run(directory: Path) -> Section:
    """Make the results below `directory`, and measure."""
    results = [directory / name for name in "ab"]
    for seed, result in enumerate(results):
        large_result.make(result, large_result.TRIALS, seed)
    mesh = directory / "mesh"
    large_mesh.make(mesh)
    figures: list[Figure] = []
    for command in large_result.COMMANDS:
        measured = large_result.measure(command, *results[: 2 if command == "compare" else 1])
        figures += _figures(f"{command}, 1,000,000 trials", measured, LONGEST_S, LARGEST_GB)
    figures += _figures(
        "report, 2,500,000 rounds", large_result.measure("report", mesh), LONGEST_MESH_S, LARGEST_MESH_GB
    )
    figures += report_page.figures(directory)
    return Section("Scale", TEXT, tuple(figures))


def _figures(name: str, measured: tuple[float, float], longest_s: float, largest_gb: float) -> list[Figure]:
    seconds, gigabytes = measured
    return [
        _figure(f"{name}: time", seconds, "s", longest_s),
        _figure(f"{name}: memory", gigabytes, "GB", largest_gb),
    ]


def _figure(name: str, value: float, unit: str, most: float) -> Figure:
    text = f"{value:.1f} {unit}"
    return Figure(name, text, "none", f"at most {most:g} {unit}", value, None, None, value <= most)

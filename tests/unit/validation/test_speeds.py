"""The pages of validation and bench show how fast the CPUs were."""

from msgspec import structs

from validation.speeds import Speeds
from vtax.agent_api import CanaryReading

READING = CanaryReading(
    cpu=1, chain_ns=1.62, parallel_ns=1.3, load_ns=90.0, system_call_ns=166.0, frame_ns=2_345.6
)


def test_a_cpu_is_shown_by_all_looks_and_by_the_part_before_which_it_was_slowest() -> None:
    slow = structs.replace(READING, system_call_ns=301.4, frame_ns=2_400.0)
    text = Speeds({"native": [[READING], [slow], [slow]], "agreement": [[READING], [READING], [slow]]}).text()
    rows = [line for line in text.splitlines() if line.startswith("| 1 |")]
    assert len(rows) == 5
    assert "| 1 | a system call | 234 (166 to 301, n = 6) | `native`: 301 |" in rows
    assert "| 1 | a frame through the kernel | 2,373 (2,346 to 2,400, n = 6) | `native`: 2,400 |" in rows
    assert "| 1 | a chain of multiplications | 1.62 (1.62 to 1.62, n = 6) | `native`: 1.62 |" in rows

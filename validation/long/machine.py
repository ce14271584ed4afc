"""What machine long validation runs on."""

from vtax.machine.environment import host_environment


def machine_in_words() -> str:
    """Return what machine this is."""
    found = host_environment()
    return f"{found.cpus} CPUs ({found.cpu_model or 'of an unknown model'}), Linux {found.kernel}"

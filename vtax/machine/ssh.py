"""The system's ssh with the user's own configuration, one connection at a time."""

CONNECT_LIMIT_S = 10
OPTIONS = {
    "BatchMode": "yes",
    "ConnectTimeout": str(CONNECT_LIMIT_S),
    # A connection of our own, that ends with us, and takes nothing else along.
    "ControlMaster": "no",
    "ControlPath": "none",
    "ClearAllForwardings": "yes",
    "ForwardAgent": "no",
    "ServerAliveInterval": "5",
    "ServerAliveCountMax": "3",
}


def ssh_to(host: str, command: str) -> list[str]:
    """What runs a shell's command on a host."""
    options = [word for name, value in OPTIONS.items() for word in ("-o", f"{name}={value}")]
    return ["ssh", "-T", *options, "--", host, command]

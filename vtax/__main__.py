"""`vtax`, and `python -m vtax`: Ctrl-C ends them in one line, also while Python still reads vtax's own modules."""

import signal
import sys


def main() -> int:
    """Run the command line and return its exit status."""
    try:
        from vtax.cli import main as command_line

        return command_line()
    except KeyboardInterrupt:
        print("vtax: interrupted", file=sys.stderr)
        return 128 + signal.SIGINT


if __name__ == "__main__":
    sys.exit(main())

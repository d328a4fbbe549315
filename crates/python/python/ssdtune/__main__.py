"""``python -m ssdtune``: the command itself."""

import sys

from ._ssdtune import run_command


def main() -> int:
    """Runs the command line of this process, and returns its exit code."""
    # The command handles Ctrl-C itself, and may start itself again.
    return run_command(["ssdtune", *sys.argv[1:]], [sys.executable, "-m", "ssdtune"])


if __name__ == "__main__":
    sys.exit(main())

"""``python -m ssdtune``: the command itself, with engines that measure elsewhere."""

from __future__ import annotations

import sys
from contextlib import ExitStack, redirect_stdout

from . import _ssdtune, engines
from ._search import handed


def main() -> int:
    """Runs the command line of this process, and returns its exit code."""
    # Results are written by the command itself. What packages print, as Ray does of lost nodes, is
    # no result.
    with redirect_stdout(sys.stderr), ExitStack() as stack:

        def open_engine(name: str, address: str | None) -> tuple[_ssdtune.Make, int]:
            executor = stack.enter_context(engines.named(name, address))
            return stack.enter_context(handed(executor))

        # The command handles Ctrl-C itself, and may start itself again.
        child = [sys.executable, "-m", "ssdtune"]
        return _ssdtune.run_command(["ssdtune", *sys.argv[1:]], child, open_engine)


if __name__ == "__main__":
    sys.exit(main())

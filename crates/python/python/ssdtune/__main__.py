"""``python -m ssdtune``: the command itself, with engines that measure elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack

from . import _ssdtune, engines
from ._search import handed


def main() -> int:
    """Runs the command line of this process, and returns its exit code."""
    with ExitStack() as stack:

        def open_engine(
            name: str, address: str | None
        ) -> tuple[Callable[[_ssdtune.How], Callable[..., str]], int]:
            executor = stack.enter_context(engines.named(name, address))
            return stack.enter_context(handed(executor))

        # The command handles Ctrl-C itself, and may start itself again.
        child = [sys.executable, "-m", "ssdtune"]
        return _ssdtune.run_command(["ssdtune", *sys.argv[1:]], child, open_engine)


if __name__ == "__main__":
    sys.exit(main())

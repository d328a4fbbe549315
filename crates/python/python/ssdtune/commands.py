"""Every subcommand of ``ssdtune`` as a function, with its names, defaults and results.

``ssdtune keeper label --mixes 100 --out labels.jsonl`` is
``st.commands.keeper.label(mixes=100, out="labels.jsonl")``: flags are arguments by name, with
underscores; what the command takes by its place, the function does too; a flag that may be given
more than once takes a list, a flag without a value ``True``. Wherever the command reads a file,
a ``Device``, a ``Trace`` or a ``Workload`` will do; ``("oltp", trace)`` stands for ``oltp=FILE``. ``help(st.commands.keeper.label)`` says what
each argument means.

A call is a process of its own. It gives the document that the command prints with ``--json`` and
raises what the command refuses. ``progress=True`` shows what the command says meanwhile;
otherwise that is in ``answer.notes``. Ctrl-C ends it, and keeps what the command keeps.

>>> import ssdtune as st
>>> trace = st.workload("database").generate(2000)
>>> st.commands.trace.info(trace)[0].requests
2000
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import _command


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        return _command.functions()[name]
    except KeyError:
        there = ", ".join(_command.functions())
        raise AttributeError(f"no command {name}; there are {there}") from None


def __dir__() -> Iterable[str]:
    return [*globals(), *_command.functions()]

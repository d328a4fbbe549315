"""The exceptions of ssdtune: one family, told apart as the exit codes of the command do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple


class Fault(NamedTuple):
    """One thing that is wrong, and where."""

    message: str
    file: str | None = None
    line: int | None = None


class Error(Exception):
    """What ssdtune raises. ``faults`` names each fault, where there are several places.

    >>> import ssdtune as st
    >>> try:
    ...     st.Device("intel-750", **{"bus.channels": 0, "gc.threshold": 9})
    ... except st.Error as error:
    ...     print(error.code, len(error.faults))
    2 2
    """

    code: int = 1
    """The exit code that the command would have."""

    faults: tuple[Fault, ...]
    """Each fault."""

    results: Sequence[Any] = ()
    """Of work in many cells: what each gave, a result or an exception."""

    def __init__(self, message: str, faults: Iterable[tuple[str, str | None, int | None]] = ()):
        super().__init__(message)
        self.faults = tuple(Fault(*fault) for fault in faults)

    def __reduce__(self) -> tuple[type[Error], tuple[str, tuple[Fault, ...]]]:
        return type(self), (str(self), self.faults)


class WorkError(Error):
    """The work failed, as when a disk is full or a drive has no free blocks left."""


class UsageError(Error, ValueError):
    """An argument is wrong, or arguments contradict each other."""

    code = 2


class DataError(Error, ValueError):
    """An input file or an array is wrong."""

    code = 3


class Unfit(Error):
    """A drive cannot serve a trace: what an ``Evaluator`` raises then."""


class LostError(WorkError):
    """A cell was lost three times: each time the worker that ran it was gone."""

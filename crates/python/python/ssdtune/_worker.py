"""What an executor's workers do: a call, with its traces found where this process has them.

A call names its traces by digest. A worker knows a trace that it was given before; or it finds
it in a folder that the driver has written, if both share a disk; or it says that it has none, and
is given the trace together with the call.
"""

from __future__ import annotations

import os
import pickle
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from ._errors import WorkError
from ._ssdtune import Points, Trace, __version__

HELD_MAX = 4
"""Traces that a worker keeps. One of a million requests takes 24 MB."""

Referred: TypeAlias = Trace | Points
"""What calls refer to: a trace, or the windows that stand for a long one."""

_held: OrderedDict[str, Referred] = OrderedDict()
_own: weakref.WeakValueDictionary[str, Referred] = weakref.WeakValueDictionary()


@dataclass(frozen=True)
class TraceReference:
    """A trace by its digest, and the file where this host may have it, or what the executor shares
    it by: an object with a method ``get``."""

    digest: str
    path: str | None = None
    shared: Any = None


@dataclass(frozen=True)
class Call:
    """A function of a module, its arguments, and what to call it in messages."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    words: str


class _Missing(Exception):
    """Traces that this process does not have."""

    def __init__(self, digests: tuple[str, ...]):
        super().__init__(*digests)
        self.digests = digests


def version() -> str:
    """The version of ssdtune in the worker."""
    return __version__


def own(trace: Referred) -> None:
    """Lets calls in this very process find a trace, as long as somebody else keeps it."""
    _own[trace.digest] = trace


def work(call: Call, parcels: Iterable[Referred] = ()) -> tuple[str, Any]:
    """Does a call: ``("done", result)``, ``("failed", exception)`` or ``("missing", digests)``.

    Exceptions of the call itself are part of the answer, so that what an executor raises is about
    its workers alone.
    """
    try:
        for trace in parcels:
            _keep(trace)
        arguments = [_found(argument) for argument in call.arguments]
        return "done", call.function(*arguments)
    except _Missing as missing:
        return "missing", missing.digests
    except Exception as error:
        return "failed", _packable(error)


def _keep(trace: Referred) -> None:
    _held[trace.digest] = trace
    _held.move_to_end(trace.digest)
    while len(_held) > HELD_MAX:
        _held.popitem(last=False)


def _found(argument: Any) -> Any:
    """An argument with its references replaced by traces."""
    if isinstance(argument, TraceReference):
        return _trace(argument)
    if isinstance(argument, list):
        return [_found(one) for one in argument]
    return argument


def _trace(reference: TraceReference) -> Referred:
    known = _own.get(reference.digest, _held.get(reference.digest))
    if known is None and reference.shared is not None:
        known = reference.shared.get()
    if known is None and reference.path is not None and os.path.exists(reference.path):
        with open(reference.path, "rb") as file:
            known = pickle.load(file)
        if known is None or known.digest != reference.digest:
            known = None
    if known is None:
        raise _Missing((reference.digest,))
    _keep(known)
    return known


def _packable(error: Exception) -> Exception:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return WorkError(f"{type(error).__name__}: {error}")
    return error

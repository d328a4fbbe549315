"""From what users call columns to arrays that the extension reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ._errors import UsageError

_OPS = {
    "r": 0, "read": 0, "w": 1, "write": 1, "t": 2, "trim": 2, "d": 2, "discard": 2,
    "f": 3, "flush": 3,
}  # fmt: skip


def columns(
    time: npt.ArrayLike, offset: npt.ArrayLike, size: npt.ArrayLike, op: npt.ArrayLike
) -> tuple[npt.NDArray[np.uint64], ...]:
    """The four columns of a trace in the types and in the layout that the extension reads.

    A column that has them is not copied.
    """
    return (
        _whole("time", _nanoseconds(np.asarray(time))),
        _whole("offset", np.asarray(offset)),
        _whole("size", np.asarray(size)),
        _numbers(np.asarray(op)),
    )


def _whole(name: str, column: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    if column.ndim != 1:
        raise UsageError(f"{name} has {column.ndim} dimensions: give one")
    if column.dtype.kind not in "iu":
        # An empty list is one of reals.
        if column.size:
            raise UsageError(f"{name} is of the type {column.dtype}: give whole numbers")
    elif column.dtype.kind == "i" and column.size and column.min() < 0:
        raise UsageError(f"{name} has negative numbers; the smallest is {column.min()}")
    return np.ascontiguousarray(column, dtype=np.uint64)


def _nanoseconds(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Dates count from the first one; spans of time are as they are."""
    if column.dtype.kind == "M":
        column = column - column[:1]
    if column.dtype.kind == "m":
        return column.astype("m8[ns]").view(np.int64)
    return column


def _numbers(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if column.ndim != 1:
        raise UsageError(f"op has {column.ndim} dimensions: give one")
    if column.dtype.kind in "OUS":
        names, places = np.unique(column.astype("U"), return_inverse=True)
        unknown = [str(name) for name in names if str(name).lower() not in _OPS]
        if unknown:
            raise UsageError(f"unknown operations: {', '.join(unknown[:9])}")
        column = np.array([_OPS[str(name).lower()] for name in names], dtype=np.uint8)[places]
    if column.dtype.kind not in "iub" and column.size:
        raise UsageError(f"op is of the type {column.dtype}: give numbers or names")
    if column.size and not 0 <= int(column.min()) <= int(column.max()) <= 3:
        raise UsageError("op: write 0 for read, 1 write, 2 trim, 3 flush")
    return np.ascontiguousarray(column, dtype=np.uint8)

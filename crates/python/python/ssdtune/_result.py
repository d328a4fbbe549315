"""What simulations give: figures by attributes, documents, and tables of NumPy arrays."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _ssdtune
from ._errors import UsageError

Table = dict[str, npt.NDArray[Any]]
"""Columns of equal length by their names: ``pandas.DataFrame`` and ``polars.DataFrame`` take it."""


class Record(Mapping[str, Any]):
    """A part of a report: its fields are attributes, and items too.

    >>> from ssdtune import Record
    >>> record = Record({"total": {"requests": 3}})
    >>> record.total.requests, record["total"]
    (3, Record(requests=3))
    """

    def __init__(self, fields: Mapping[str, Any]):
        self.__dict__["_fields"] = dict(fields)

    def __getitem__(self, name: str) -> Any:
        return _shown(self.__dict__["_fields"][name])

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no field {name}; there are {', '.join(self)}") from None

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a report does not change")

    def __iter__(self) -> Iterator[str]:
        return iter(self.__dict__["_fields"])

    def __len__(self) -> int:
        return len(self.__dict__["_fields"])

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *self]

    def __repr__(self) -> str:
        return f"Record({', '.join(f'{name}={self[name]!r}' for name in self)})"

    def __reduce__(self) -> tuple[type[Record], tuple[dict[str, Any]]]:
        return Record, (self.__dict__["_fields"],)

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dictionary of dictionaries, lists and numbers."""
        return dict(self.__dict__["_fields"])


def _shown(value: Any) -> Any:
    if isinstance(value, dict):
        return Record(value)
    if isinstance(value, list):
        return [_shown(one) for one in value]
    return value


class Result:
    """What one simulation gave.

    The fields of the report are attributes of the result; ``docs/results-schema.md`` describes
    them. Times are in nanoseconds, energies in joule, rates in bytes per second.

    >>> import ssdtune as st
    >>> result = st.simulate(st.Device("z-ssd"), st.workload("database"), requests=1000)
    >>> result.requests.completed, result.total.read.requests + result.total.write.requests
    (1000, 1000)
    """

    log: Table | None
    """A row for each request, with ``log=True``; columns as ``ssdtune simulate --log`` names them."""

    series: Table | None
    """A row for each interval, with ``series=True``; columns as those of ``--series``."""

    def __init__(
        self, raw: _ssdtune.RawResult, log: Table | None = None, series: Table | None = None
    ):
        self._raw = raw
        self.log = log
        self.series = series

    @cached_property
    def _cell(self) -> dict[str, Any]:
        cell: dict[str, Any] = json.loads(self._raw.dump())
        return cell

    @property
    def device(self) -> str:
        """The name of the drive."""
        return str(self._cell["device"])

    @property
    def workload(self) -> str:
        """The name of the workload."""
        return str(self._cell["workload"])

    @property
    def settings(self) -> dict[str, str]:
        """What a sweep has set for this cell."""
        return dict(self._cell["settings"])

    @property
    def preparation(self) -> Record:
        """What the drive held and had been through."""
        return Record(self._cell["preparation"])

    @property
    def outside_tested_range(self) -> list[str] | None:
        """What a calibrated drive was not tested at; ``None`` if the drive is not calibrated."""
        return self._cell.get("outside_tested_range")

    @property
    def slowdown(self) -> Record | None:
        """What sharing the drive costs each tenant, with ``slowdown=True``."""
        found = self._cell["slowdown"]
        return None if found is None else Record(found)

    @cached_property
    def report(self) -> Record:
        """The whole report."""
        return Record(self._cell["report"])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.report, name)

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *self.report]

    @property
    def latencies(self) -> npt.NDArray[np.uint64]:
        """The drive's latency of each request in nanoseconds, from the submission queue to the
        completion, in order of completion; with ``log=True``.

        >>> import ssdtune as st
        >>> result = st.simulate(st.Device("z-ssd"), st.workload("database"), requests=99, log=True)
        >>> result.latencies.dtype, len(result.latencies)
        (dtype('uint64'), 99)
        """
        if self.log is None:
            raise UsageError("latencies are kept with log=True")
        return self.log["device_latency_ns"]

    def to_json(self) -> str:
        """The document that ``ssdtune simulate --json`` prints, to the byte."""
        return _ssdtune.document([self._raw]).decode()

    def to_dict(self) -> dict[str, Any]:
        """The document that ``ssdtune simulate --json`` prints, as a dictionary."""
        document: dict[str, Any] = json.loads(self.to_json())
        return document

    def __str__(self) -> str:
        return self._raw.text()

    def __repr__(self) -> str:
        return f"<ssdtune.Result {self.workload} on {self.device}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._raw.dump(), self._cell["cell"], self.log, self.series)


def _restored(text: str, number: int, log: Table | None, series: Table | None) -> Result:
    return Result(_ssdtune.RawResult.load(text, number), log, series)


class Results(list[Result]):
    """What several simulations gave, in the order of the cells: a list, and a document of all."""

    def to_json(self) -> str:
        """The document that ``ssdtune simulate --json`` prints of all cells, to the byte."""
        return _ssdtune.document([result._raw for result in self]).decode()

    def to_dict(self) -> dict[str, Any]:
        """The same as a dictionary."""
        document: dict[str, Any] = json.loads(self.to_json())
        return document

    def __str__(self) -> str:
        return _ssdtune.table([result._raw for result in self])

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def table(columns: list[_ssdtune.Column] | None) -> Table | None:
    """Columns as arrays that lie where the extension has them."""
    if columns is None:
        return None
    return {column.name: np.frombuffer(memoryview(column), dtype=column.dtype) for column in columns}

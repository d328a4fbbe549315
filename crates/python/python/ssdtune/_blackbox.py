"""``BlackBoxModel``: what ``ssdtune predict-perf predict`` does, many times a second."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable

from . import _ssdtune
from ._result import Record, Table, table
from ._ssdtune import Trace

WINDOW_REQUESTS = 3000


class BlackBoxModel:
    """A learned model of a drive's performance, from a file of ``ssdtune predict-perf fit``
    (``st.commands.predict_perf.fit``).

    It predicts points: workloads by their characteristics. ``w50-q16-W64k.r100-R4k.s16k`` is 50 %
    writes, 16 requests outstanding, writes of 64 KiB all at random, and reads of 4 KiB with 16 KiB
    left out between them.

    >>> import os, tempfile, ssdtune as st
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     points, file = os.path.join(folder, "points.jsonl"), os.path.join(folder, "model.json")
    ...     _ = st.commands.predict_perf.sweep(device="z-ssd", sample=140, pages=500, requests_min=50,
    ...         requests_max=100, rounds=1, out=points)
    ...     _ = st.commands.predict_perf.fit(points, train=110, out=file)
    ...     model = st.BlackBoxModel(file)
    >>> model.predict("w50-q16-W4k.r100-R4k.r100").strong[0].value > 0
    True
    >>> many = model.predict_many(["w50-q16-W4k.r100-R4k.r100", "w0-q1-R4k.r100"])
    >>> list(many), len(many["iops"])
    (['latency_ns', 'iops', 'bandwidth_bps'], 2)
    """

    def __init__(self, path: str | os.PathLike[str]):
        self._raw = _ssdtune.RawModel(path)

    def predict(self, point: str, *, rate: float | None = None) -> Record:
        """What is predicted of a point, with intervals: the document of ``predict --point``. A model
        of an open loop needs the ``rate``, the requests that arrive in a second."""
        return Record(json.loads(self._raw.point(point, rate)))

    def predict_many(self, points: Iterable[str]) -> Table:
        """Arrays of what is predicted of points, quickly and without intervals, as by ``predict
        --points``: ``latency_ns``, ``iops``, ``bandwidth_bps``."""
        return table(self._raw.points(list(points))) or {}

    def predict_trace(
        self, trace: Trace, *, depth: int | None = None, window: int = WINDOW_REQUESTS
    ) -> list[Record]:
        """What is predicted of every window of a trace, with intervals where it is known how far off
        the model is on windows: the documents of ``predict --trace``. ``depth`` is the number of
        requests outstanding, for a model of a closed loop."""
        return [Record(one) for one in json.loads(self._raw.windows(trace, depth, window))]

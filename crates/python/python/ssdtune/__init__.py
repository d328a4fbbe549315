"""Designs SSDs by simulation and learning.

A drive is a ``Device``, requests are a ``Trace`` or a ``Workload``; ``simulate`` runs one on the
other. Names, defaults and results are those of the command ``ssdtune``, which is also here as
``python -m ssdtune``.

>>> import ssdtune as st
>>> device = st.Device("intel-750", **{"bus.channels": 16})
>>> result = st.simulate(device, st.workload("database"), requests=1000, start="steady")
>>> result.requests.completed
1000
"""

from . import commands, engines
from ._blackbox import BlackBoxModel
from ._command import Answer
from ._errors import DataError, Error, Fault, LostError, Unfit, UsageError, WorkError
from ._result import Record, Result, Results
from ._search import Evaluator, Grades, Objective, Proposer, SearchResult, grade, search
from ._simulate import simulate, simulate_many
from ._ssdtune import Device, Trace, Workload, __version__, presets, workloads

workload = Workload
"""Loads a workload model: a bundled one by its name, or a model file by its path."""

__all__ = [
    "Answer",
    "BlackBoxModel",
    "DataError",
    "Device",
    "Error",
    "Evaluator",
    "Fault",
    "Grades",
    "LostError",
    "Objective",
    "Proposer",
    "Record",
    "Result",
    "Results",
    "SearchResult",
    "Trace",
    "Unfit",
    "UsageError",
    "WorkError",
    "Workload",
    "__version__",
    "commands",
    "engines",
    "grade",
    "presets",
    "search",
    "simulate",
    "simulate_many",
    "workload",
    "workloads",
]

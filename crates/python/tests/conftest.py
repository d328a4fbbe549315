"""What the tests share: the command to compare with, and small traces."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import ssdtune as st

Command = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture(scope="session")
def command() -> Command:
    """Runs the program ``ssdtune`` that SSDTUNE_COMMAND names; ``python -m ssdtune`` if none."""
    named = os.environ.get("SSDTUNE_COMMAND")
    words = [named] if named else [sys.executable, "-m", "ssdtune"]

    def run(*arguments: object, **options: object) -> "subprocess.CompletedProcess[bytes]":
        given = [str(argument) for argument in arguments]
        return subprocess.run([*words, *given], capture_output=True, **options)  # type: ignore

    return run


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    """A trace file of 300 requests of a database."""
    path = tmp_path / "a.csv"
    trace = st.workload("database").generate(300)
    rows = zip(trace.time, trace.op, trace.lba, trace.sectors)
    lines = [f"{time},0,{'RW'[op]},{lba},{sectors}" for time, op, lba, sectors in rows]
    path.write_text("time_ns,tenant,op,lba,sectors\n" + "\n".join(lines) + "\n")
    return path

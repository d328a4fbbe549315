"""Commands whose work is cut into parts for the workers of an executor.

A command with ``--part`` writes a file of lines and goes on with what a file holds. A worker runs
the command for one part and returns the lines; the driver adds them to its file, and in the end
runs the command itself, which finds everything known, puts it in order and reports. So the file
and the document are those of one machine, and a driver that was killed goes on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from ._command import Answer, Command, Folder, run, words
from ._engine import Engine
from ._errors import UsageError
from ._simulate import _told
from ._ssdtune import Device
from ._worker import Call

PARTS_PER_WORKER = 8
"""Enough that a slow part keeps few workers waiting, and few enough that starting costs little."""


def in_parts(
    command: Command,
    given: Mapping[str, Any],
    executor: Executor,
    progress: bool | Callable[[int, int], object],
) -> Answer:
    """Runs a command on the workers of an executor."""
    if given.get("part") is not None:
        raise UsageError("part and executor: the executor's workers do all parts")
    if given.get("workloads") is not None:
        raise UsageError("workloads are chosen one after the other: an executor cannot help")
    known = {own.python: own for own in command.arguments}
    common = {**given}
    # A drive's file need not be where workers are.
    default = known["device"].default
    device = common.get("device") or (default[0] if default else None)
    if device is not None and not isinstance(device, Device):
        common["device"] = Device(os.fspath(device))
    with Engine(executor) as engine:
        parts = PARTS_PER_WORKER * engine.workers
        if "mixes" in known:
            parts = max(1, min(parts, int(common.get("mixes") or known["mixes"].default[0])))
        out = Path(os.fspath(common["out"]))
        # Whether the file may be gone on with is found out before anything is handed out.
        here({**common, "part": f"1/{parts}"}, command)
        common |= _measured(out, known)
        calls = [
            Call(
                part,
                (command, {**common, "part": f"{number}/{parts}"}, _lines(out, number, parts)),
                f"part {number} of {parts} of {' '.join(command.words)}",
            )
            for number in range(2, parts + 1)
        ]
        with _told(progress, parts) as tell:
            tell(1)

            def take(done: int, lines: Any) -> None:
                if isinstance(lines, bytes):
                    with open(out, "ab", buffering=0) as file:
                        file.write(lines)
                tell(done + 1)

            found = engine.map(calls, take)
    failures = [one for one in found if isinstance(one, BaseException)]
    if failures:
        raise failures[0]
    return here(common, command)


def here(given: Mapping[str, Any], command: Command) -> Answer:
    """Runs the command in this process's place."""
    with Folder() as folder:
        return run(words(command, given, folder))


def part(command: Command, given: Mapping[str, Any], known: bytes) -> bytes:
    """What a worker does: the lines of a part beyond those that are known."""
    with Folder() as folder:
        out = folder.path("part.jsonl")
        out.write_bytes(known)
        run(words(command, {**given, "out": out, "threads": 1}, folder))
        before = set(known.splitlines())
        lines = out.read_bytes().splitlines(keepends=True)[1:]
    return b"".join(line for line in lines if line.rstrip(b"\n") not in before)


def _lines(path: Path, number: int, parts: int) -> bytes:
    """The first line of a file, and those of its others that may be of a part."""
    head, *others = path.read_bytes().splitlines(keepends=True)

    def is_near(line: bytes) -> bool:
        mix = json.loads(line).get("number")
        return mix is None or mix % parts == number - 1

    return head + b"".join(line for line in others if is_near(line))


def _measured(path: Path, known: Mapping[str, Any]) -> dict[str, Any]:
    """What the first part has measured for all."""
    if "rate_max" not in known:
        return {}
    with open(path, "rb") as file:
        return {"rate_max": repr(json.loads(file.readline())["settings"]["rate_max_pages"])}

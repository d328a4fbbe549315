#!/usr/bin/env python3
"""ssdtune and MQSim on the same files, in the same minutes: the processor time of whole processes.

    peer.py SSDTUNE [--mqsim PROGRAM] [--shared FOLDER] [--pairs 3] [--case NAME ...]

Runs every case of FOLDER/reference/mqsim/speed (or those named) on both programs, in turn, so that
a busy minute hurts both. Prints a table in Markdown: the median processor time (user and system) of
each program, the median of the ratios of each pair with the smallest and the largest, and the
memory that each took. Without --mqsim, MQSim's times are the recorded ones, which are of another
machine: then the ratios say little, and the table says so.

FOLDER is ../shared beside the repository, unless given or named by SSDTUNE_SHARED.
"""

import argparse
import json
import lzma
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path


def run(command, folder):
    """The processor time in seconds and the peak memory in MiB of a process that must succeed."""
    process = subprocess.Popen(
        [str(word) for word in command],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{command[0]} ended with {process.returncode}: {' '.join(map(str, command))}")
    # Linux counts KiB, macOS bytes.
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return used.ru_utime + used.ru_stime, used.ru_maxrss / unit


def prepare(case, source, folder):
    """Puts the files of a case where its workload file looks for them."""
    for key in ("ssd", "workload"):
        place = folder / case[key]
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / case[key], place)
    place = folder / case["trace"]
    place.parent.mkdir(parents=True, exist_ok=True)
    packed = (source / case["trace"]).with_suffix(".trace.xz")
    if packed.exists():
        with lzma.open(packed) as packed, open(place, "wb") as plain:
            shutil.copyfileobj(packed, plain)
    else:
        shutil.copyfile(source / case["trace"], place)


def measure(case, arguments, folder):
    """One row of the table."""
    ssdtune = [arguments.ssdtune.resolve(), "simulate", "--mqsim", case["ssd"], case["workload"]]
    ssdtune += ["--threads", "1", "--json"]
    recorded = case["mqsim"]["mqsim-2019"]
    ours, theirs = [], []
    for _ in range(arguments.pairs):
        if arguments.mqsim:
            peer = [arguments.mqsim.resolve(), "-i", case["ssd"], "-w", case["workload"]]
            theirs.append(run(peer, folder))
        else:
            time = recorded["user_cpu_s"] + recorded["sys_cpu_s"]
            theirs.append((time, recorded["peak_rss_kib"] / 1024))
        ours.append(run(ssdtune, folder))
    ratios = [their[0] / our[0] for their, our in zip(theirs, ours)]
    return {
        "case": case["id"],
        "mqsim_s": statistics.median(time for time, _ in theirs),
        "ssdtune_s": statistics.median(time for time, _ in ours),
        "ratio": statistics.median(ratios),
        "ratios": [min(ratios), max(ratios)],
        "mqsim_mib": max(memory for _, memory in theirs),
        "ssdtune_mib": max(memory for _, memory in ours),
        "requests_per_s": recorded["generated"] / statistics.median(time for time, _ in ours),
    }


def main():
    beside = Path(__file__).resolve().parent.parent.parent / "shared"
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ssdtune", type=Path, help="the release build of ssdtune")
    parser.add_argument("--mqsim", type=Path, help="a build of MQSim, to be measured beside it")
    parser.add_argument("--shared", type=Path, default=os.environ.get("SSDTUNE_SHARED", beside))
    parser.add_argument("--pairs", type=int, default=3, help="runs of each program")
    parser.add_argument("--case", action="append", help="a case; may be repeated")
    arguments = parser.parse_args()
    for program in filter(None, [arguments.ssdtune, arguments.mqsim]):
        if not os.access(program, os.X_OK):
            sys.exit(f"{program} is no program: name the release build of ssdtune, and of MQSim")
    source = Path(arguments.shared) / "reference" / "mqsim"
    if not (source / "speed" / "speed.json").exists():
        sys.exit(f"no recorded cases in {source}: name the folder with --shared")
    cases = json.loads((source / "speed" / "speed.json").read_text())
    # One recorded case has no trace: MQSim makes its requests by itself.
    cases = [case for case in cases if case.get("trace")]
    names = [case["id"] for case in cases]
    for name in arguments.case or []:
        if name not in names:
            sys.exit(f"there is no case {name}; the cases: {', '.join(names)}")
    if not arguments.mqsim:
        print("MQSim's times are recorded ones, of another machine: the ratios say little.\n")
    print("| case | MQSim | ssdtune | ratio (smallest to largest) | requests/s | MQSim, MiB | MiB |")
    print("|---|---|---|---|---|---|---|")
    for case in cases:
        if arguments.case and case["id"] not in arguments.case:
            continue
        with tempfile.TemporaryDirectory() as folder:
            prepare(case, source, Path(folder))
            row = measure(case, arguments, Path(folder))
        low, high = row["ratios"]
        print(
            f"| {row['case']} | {row['mqsim_s']:.2f} s | {row['ssdtune_s']:.2f} s "
            f"| {row['ratio']:.1f} ({low:.1f} to {high:.1f}) | {row['requests_per_s'] / 1e6:.2f} M "
            f"| {row['mqsim_mib']:.0f} | {row['ssdtune_mib']:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()

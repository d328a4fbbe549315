#!/usr/bin/env python3
"""AutoBlox's Tables 1, 4, 8, 9 and Figure 8, by one search for each target and baseline.

    tables.py run   SSDTUNE OUT [--requests 20000] [--short 6000] [--threads 1]
    tables.py judge SSDTUNE OUT [--requests 100000]
    tables.py write OUT

`run` makes the searches that are not in OUT. `judge` measures the recommended drives on longer
held-out traces of the target. `write` prints the tables in Markdown.

SSDTUNE is the binary. Searches for the paper's seven workloads against the Intel 750 use --requests
requests, all others --short. All searches share OUT/autodb, so that nothing is simulated twice.
"""

import argparse
import json
import math
import subprocess
from pathlib import Path

from workloads import SEVEN

NEW = ["vdi", "fiu", "radiusauth", "leveldb", "mysql", "hdfs"]
LIMITS = {
    "intel-750": ["--constraints", "configs/constraints/nvme-mlc-512gb.toml"],
    "z-ssd": ["--power-budget", "25"],
    # Some workloads touch more than the drive has.
    "samsung-850-pro": [
        "--constraints",
        "configs/constraints/sata-mlc-256gb.toml",
        "--fit-addresses",
        "wrap",
    ],
}
# Looser limits where the baseline itself needs more than the 5 W that the constraints allow.
ROOM = {
    ("samsung-850-pro", "kvstore"): ["--power-budget", "12"],
    ("samsung-850-pro", "leveldb"): ["--power-budget", "12"],
}
# A workload is latency-bound if it keeps the baseline less busy than this.
LATENCY_BOUND = 0.30


def common(target, device, out, requests):
    return [
        "--space",
        "autoblox",
        "--target",
        target,
        "--device",
        device,
        "--requests",
        str(requests),
        "--db",
        str(out / "autodb"),
        *LIMITS[device],
        *ROOM.get((device, target), []),
    ]


def run(args):
    for device in LIMITS:
        for target in SEVEN + NEW:
            where = args.out / device / target
            if (where / "result.json").exists():
                continue
            requests = args.requests if device == "intel-750" and target in SEVEN else args.short
            command = [args.ssdtune, "search", *common(target, device, args.out, requests)]
            command += ["--budget", "40", "--prefix", str(requests // 10), "--out", str(where)]
            command += ["--threads", str(args.threads), "--force", "-q"]
            print(" ".join(command), flush=True)
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def judge(args):
    for device in LIMITS:
        for target in SEVEN + NEW:
            where = args.out / device / target
            drive = where / "recommended.toml"
            if (where / "judged.json").exists() or not drive.exists():
                continue
            command = [
                args.ssdtune,
                "grade",
                *common(target, device, args.out, args.requests),
                "--others",
                "none",
                "--held-out",
            ]
            command += ["--threads", str(args.threads), "--json", "-q", str(drive)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            (where / "judged.json").write_text(done.stdout)
            print(device, target, flush=True)


def geometric(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else 1.0


def ratio(speedup):
    return f"{speedup['latency']:.2f}/{speedup['throughput']:.2f}"


def mean(speedups):
    return {part: geometric(own[part] for own in speedups) for part in ("latency", "throughput")}


def write_device(out, device):
    results = {}
    for target in SEVEN + NEW:
        where = out / device / target
        if (where / "result.json").exists():
            results[target] = json.loads((where / "result.json").read_text())
            judged = where / "judged.json"
            results[target]["judged"] = (
                json.loads(judged.read_text())[0] if judged.exists() else None
            )
    if not results:
        return
    print(f"\n### Against {device}\n")
    print(
        "| target | baseline busy | search's traces | held-out seeds | held-out, 100,000 requests "
        "| others (mean) | others, worst latency | ignoring others | W (was) | energy (was) | s |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for target, own in results.items():
        held, alone = own["held_out"], own["ignoring_others"]
        row = held["target"]
        judged = own["judged"]
        long = ratio(judged["target"]) if judged and judged.get("grade") is not None else "-"
        busy = f"{row['baseline']['utilisation']:.0%} {row['baseline']['busiest']}"
        watts = f"{row['own']['average_watts']:.1f} ({row['baseline']['average_watts']:.1f})"
        energy = row["own"]["energy_j"] / row["baseline"]["energy_j"]
        print(
            f"| {target} | {busy} | {ratio(own['training']['target']['speedup'])} "
            f"| **{ratio(row['speedup'])}** | {long} "
            f"| {ratio(held['others_mean'])} | {held['others_worst']['latency']:.2f} "
            f"| {ratio(alone['target']['speedup'])} | {watts} "
            f"| {energy:.2f}x | {own['effort']['seconds']:.0f} |"
        )
    bound = [
        own["held_out"]["target"]["speedup"]
        for own in results.values()
        if own["held_out"]["target"]["baseline"]["utilisation"] < LATENCY_BOUND
    ]
    every = [own["held_out"]["target"]["speedup"] for own in results.values()]
    others = [own["held_out"]["others_mean"] for own in results.values()]
    print(
        f"\nGeometric means: targets {ratio(mean(every))}, "
        f"latency-bound targets alone ({len(bound)}) {ratio(mean(bound))}, "
        f"others {ratio(mean(others))}."
    )
    seven = [target for target in SEVEN if target in results]
    print(f"\nEach column a search, each row what a workload gets of it (held-out seeds):\n")
    print("| | " + " | ".join(results) + " |")
    print("|---|" + "---|" * len(results))
    for workload in seven:
        cells = []
        for target, own in results.items():
            rows = [own["held_out"]["target"], *own["held_out"]["others"]]
            found = next(row for row in rows if row["workload"] == workload)
            text = ratio(found["speedup"])
            cells.append(f"**{text}**" if target == workload else text)
        print(f"| {workload} | " + " | ".join(cells) + " |")
    keys = sorted({change["key"] for own in results.values() for change in own["parameters"]})
    print(f"\nParameters (the paper's Table 5); blank is the baseline's:\n")
    print("| | baseline | " + " | ".join(results) + " |")
    print("|---|---|" + "---|" * len(results))
    for key in keys:
        cells, base = [], ""
        for own in results.values():
            found = next((change for change in own["parameters"] if change["key"] == key), None)
            base = found["baseline"] if found else base
            cells.append(found["recommended"] if found else "")
        print(f"| {key} | {base} | " + " | ".join(cells) + " |")


def write(args):
    for device in LIMITS:
        write_device(args.out, device)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    for name, act, length in [("run", run, 20_000), ("judge", judge, 100_000), ("write", write, 0)]:
        own = commands.add_parser(name)
        if name != "write":
            own.add_argument("ssdtune")
            own.add_argument("--requests", type=int, default=length)
            own.add_argument("--short", type=int, default=6_000)
            own.add_argument("--threads", type=int, default=1)
        own.add_argument("out", type=Path)
        own.set_defaults(act=act)
    args = parser.parse_args()
    args.act(args)


main()

#!/usr/bin/env python3
"""What one rule of a search is worth: searches with and without it, from the same seeds.

    rules.py run  RULE SSDTUNE OUT [--traces FOLDER] [--seeds 0-4]   runs that are not in OUT yet
    rules.py show RULE OUT                                           a table in Markdown

RULE is one of these, both in the paper's space around the Intel 750, without other workloads:

- `capacity`: --usable-capacity of the baseline against the paper's rule, which keeps raw flash.
  Real traces of --traces on drives that are 90 % full and long in use.
- `robust`: --robust against the plain grade. Models on drives that hold what is touched. Both
  drives are then graded by both ways.

Drives are judged on requests that no search saw. OUT grows by a line for each pair of searches.
"""

import argparse
import json
import math
import statistics
import subprocess
import tempfile
from pathlib import Path

from intervals import factor

REAL = {
    "webserver": "blkreplay_linux-webserver-2.load.xz",
    "cloudphysics": "cloudphysics_libcachesim.vscsi.xz",
    "telegram": "mobile_telegram_exec.csv.xz",
    "tencent": "caffeine_tencent_cloud_storage-sample.csv.xz",
}
MODELS = [
    *("recomm", "kvstore", "database", "websearch", "batch-analytics", "cloud-storage", "livemaps"),
]
DEVICE = "intel-750"


def document(*command):
    done = subprocess.run(
        [str(word) for word in command], check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout)


def usable(ssdtune, drive):
    """Bytes that the host sees, and the share of spare area."""
    shown = document(ssdtune, "config", "show", drive, "--json")
    bus, flash = shown["bus"], shown["flash"]
    count = bus["channels"] * bus["chips_per_channel"] * flash["page_bytes"]
    for key in ("dies_per_chip", "planes_per_die", "blocks_per_plane", "pages_per_block"):
        count *= flash[key]
    spare = shown["mapping"]["overprovisioning"]
    return count * (1 - spare), spare


class Capacity:
    """Spare area that costs flash, against spare area that costs capacity."""

    def __init__(self, args):
        self.traces = args.traces
        self.names = list(REAL)
        if self.traces is None:
            raise SystemExit("capacity: --traces names the folder of real traces")

    def question(self, name):
        return [
            *("--target", str(self.traces / REAL[name]), "--requests", "16000"),
            *("--fit-addresses", "compact", "--start", "steady:0.9"),
        ]

    def rule(self, ssdtune):
        return ["--usable-capacity", str(round(usable(ssdtune, DEVICE)[0]))]

    def judged(self, ssdtune, question, found, drive):
        """What a recommended drive is worth."""
        own, spare = usable(ssdtune, drive)
        speedup = found["held_out"]["target"]["speedup"]
        capacity = own / usable(ssdtune, DEVICE)[0]
        return speedup | {"capacity": capacity, "spare": spare}


class Robust:
    """The lesser of both rules against the own rules alone."""

    def __init__(self, args):
        self.names = MODELS

    def question(self, name):
        return ["--target", name, "--requests", "3000"]

    def rule(self, ssdtune):
        return ["--robust"]

    def judged(self, ssdtune, question, found, drive):
        grade = [ssdtune, "grade", drive, *question, "--held-out", "--json", "-q", "--threads", "1"]
        own = document(*grade)[0]["target"]
        both = document(*grade, "--robust")[0]["target"]
        return {"own": mean(own), "both": mean(both)}


def mean(speedup):
    return math.sqrt(speedup["latency"] * speedup["throughput"])


RULES = {"capacity": Capacity, "robust": Robust}


def stored(out):
    lines = out.read_text().splitlines() if out.exists() else []
    return [json.loads(line) for line in lines]


def run(args):
    rule = RULES[args.rule](args)
    first, last = (int(part) for part in args.seeds.split("-"))
    done = {(row["target"], row["seed"]) for row in stored(args.out)}
    for seed in range(first, last + 1):
        for name in rule.names:
            if (name, seed) in done:
                continue
            question = rule.question(name)
            question += ["--space", "autoblox", "--device", DEVICE, "--others", "none"]
            question += ["--seed", str(seed), "--no-db"]
            row = {"target": name, "seed": seed}
            for kind, more in (("without", []), ("with", rule.rule(args.ssdtune))):
                call = [args.ssdtune, "search", *question, *more, "--budget", "30"]
                found = document(*call, "--json", "-q", "--threads", "1", "--patience", "1000")
                with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
                    file.write(found["toml"])
                    file.flush()
                    row[kind] = rule.judged(args.ssdtune, question, found, file.name)
            with args.out.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(json.dumps(row), flush=True)


def by_seed(rows, value):
    """The mean over all targets, for each seed."""
    seeds = sorted({row["seed"] for row in rows})
    return [statistics.fmean(value(row) for row in rows if row["seed"] == seed) for seed in seeds]


def show(args):
    rows = stored(args.out)
    columns = [(figure, kind) for figure in rows[0]["with"] for kind in ("without", "with")]
    print("| target | seeds | " + " | ".join(", ".join(column) for column in columns) + " |")
    print("|---|---|" + "---|" * len(columns))

    def line(name, count, values):
        cells = []
        for figure, kind in columns:
            told = values(figure, kind)
            is_share = figure == "spare"
            cells.append(f"{statistics.fmean(told):.2f}" if is_share else factor(told))
        print(f"| {name} | {count} | " + " | ".join(cells) + " |")

    def value(row, figure, kind):
        return row[kind][figure] if figure == "spare" else math.log(row[kind][figure])

    for target in dict.fromkeys(row["target"] for row in rows):
        own = [row for row in rows if row["target"] == target]
        line(target, len(own), lambda figure, kind: [value(row, figure, kind) for row in own])
    line(
        "all",
        len({row["seed"] for row in rows}),
        lambda figure, kind: by_seed(rows, lambda row: value(row, figure, kind)),
    )
    print("\nWith over without, over all targets:")
    for figure in rows[0]["with"]:
        if figure != "spare":
            ratio = by_seed(
                rows, lambda row: value(row, figure, "with") - value(row, figure, "without")
            )
            print(f"- {figure}: {factor(ratio)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    actions = parser.add_subparsers(required=True)
    runs = actions.add_parser("run")
    runs.add_argument("rule", choices=list(RULES))
    runs.add_argument("ssdtune")
    runs.add_argument("out", type=Path)
    runs.add_argument("--traces", type=Path)
    runs.add_argument("--seeds", default="0-4")
    runs.set_defaults(act=run)
    shows = actions.add_parser("show")
    shows.add_argument("rule", choices=list(RULES))
    shows.add_argument("out", type=Path)
    shows.set_defaults(act=show)
    args = parser.parse_args()
    args.act(args)


if __name__ == "__main__":
    main()

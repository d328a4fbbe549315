#!/usr/bin/env python3
"""Are learned layouts artefacts of the simulator?

For each target, one search with MQSim's peculiarities and one without. Both models judge both
drives.

    artefact.py SSDTUNE OUT [--requests 4000] [--budget 30] [--targets A,B]

- `mqsim`: every switch of [compat] is on (a chip takes commands only when all its dies are idle and
  its data have left, nothing is ever suspended, ...), and drives are empty at the start.
- `right`: every switch is off, and drives hold what the trace touches.

The baseline is the Intel 750. There are no other workloads. Prints tables in Markdown. A search
whose result is in OUT is not run again.
"""

import argparse
import json
import math
import subprocess
from pathlib import Path

from workloads import SEVEN

LAYOUT = ["bus.channels", "bus.chips_per_channel", "flash.dies_per_chip", "flash.planes_per_die"]


def call(*command):
    return subprocess.run(
        [str(word) for word in command], check=True, capture_output=True, text=True
    ).stdout


class Models:
    def __init__(self, args):
        self.args = args
        rows = json.loads(call(args.ssdtune, "config", "params", "--json"))
        self.switches = [row["key"] for row in rows if row["key"].startswith("compat.")]

    def sets(self, model):
        return [
            word
            for key in self.switches
            for word in ("--set", f"{key}={'true' if model == 'mqsim' else 'false'}")
        ]

    def question(self, model, target):
        state = "empty" if model == "mqsim" else "footprint"
        return [
            "--space",
            "autoblox",
            "--target",
            target,
            "--others",
            "none",
            "--device",
            "intel-750",
            *self.sets(model),
            "--start",
            state,
            "--requests",
            self.args.requests,
            "--db",
            self.args.out / "autodb",
            "--threads",
            "1",
            "-q",
        ]

    def search(self, model, target):
        where = self.args.out / model / target
        if not (where / "result.json").exists():
            more = [
                "--budget",
                self.args.budget,
                "--prefix",
                self.args.requests // 10,
                "--out",
                where,
                "--force",
            ]
            call(self.args.ssdtune, "search", *self.question(model, target), *more)
        return where / "recommended.toml"

    def judge(self, model, target, drive):
        """Formula 1 and speedups of a drive under a model, whichever model it was found with."""
        same = self.args.out / "judged.toml"
        same.write_text(
            call(
                self.args.ssdtune,
                "config",
                "convert",
                drive,
                "--to",
                "toml",
                *self.sets(model),
                "-q",
            )
        )
        graded = json.loads(
            call(self.args.ssdtune, "grade", *self.question(model, target), "--json", same)
        )[0]
        return (
            graded["target"] | {"performance": graded["performance"]}
            if graded.get("target")
            else None
        )


def text(one):
    return f"{one['latency']:.2f}/{one['throughput']:.2f}" if one else "unfit"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ssdtune")
    parser.add_argument("out", type=Path)
    parser.add_argument("--requests", type=int, default=4_000)
    parser.add_argument("--budget", type=int, default=30)
    parser.add_argument("--targets", default=",".join(SEVEN))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    models = Models(args)
    print(
        "| target | layout learned by mqsim | by right | mqsim's, judged by mqsim "
        "| mqsim's, judged by right | right's, judged by right "
        "| right's, judged by mqsim | survives: mqsim's | right's |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for target in args.targets.split(","):
        drives = {model: models.search(model, target) for model in ("mqsim", "right")}
        judged = {(by, of): models.judge(by, target, drives[of]) for by in drives for of in drives}
        share = lambda of, by: (
            judged[by, of]["performance"] / judged[of, of]["performance"]
            if judged[by, of]
            else math.nan
        )
        layouts = []
        for model in drives:
            changes = json.loads((args.out / model / target / "result.json").read_text())[
                "parameters"
            ]
            own = {change["key"]: change["recommended"] for change in changes}
            base = {
                "bus.channels": "12",
                "bus.chips_per_channel": "5",
                "flash.dies_per_chip": "8",
                "flash.planes_per_die": "1",
            }
            layouts.append("x".join(own.get(key, base[key]) for key in LAYOUT))
        print(
            f"| {target} | {' | '.join(layouts)} | {text(judged['mqsim', 'mqsim'])} "
            f"| {text(judged['right', 'mqsim'])} "
            f"| {text(judged['right', 'right'])} | {text(judged['mqsim', 'right'])} "
            f"| {share('mqsim', 'right'):.0%} | {share('right', 'mqsim'):.0%} |",
            flush=True,
        )


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""SSDKeeper on mixes of windows of real traces, beside always sharing and the best of all strategies.

    traces.py run  SSDTUNE OUT TRACES [--mixes 40] [--seed 1]   # goes on where it was left
    traces.py show OUT

A mix has two to four traces of the folder TRACES, each with a window of 20,000 requests from anywhere
in it, made to end together (--even), at level 3, 8 or 13. The first 20,000 requests of the mix are
served by `ssdtune keeper compare`. A line of OUT for each mix: its windows, and the latencies of
each plan over those of Shared. Intervals are over mixes (bootstrap); mixes share traces, so they are
somewhat too narrow.
"""

import argparse
import json
import math
import random
import subprocess
import tempfile
from pathlib import Path

WINDOW = 20_000
LEVELS = [3, 8, 13]


def call(*command):
    done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
    return json.loads(done.stdout) if "--json" in command else done.stdout


def sizes(ssdtune, folder):
    """The traces of a folder that have at least half a window, with their numbers of requests."""
    found = {}
    for path in sorted(folder.iterdir()):
        try:
            [info] = call(ssdtune, "--json", "trace", "info", path)
        except subprocess.CalledProcessError:
            continue
        if info["requests"] >= WINDOW // 2:
            found[path.name] = info["requests"]
    return found


def drawn(seed, number, counts):
    """The level of a mix, and name and first request of each window."""
    draw = random.Random(1000 * seed + number)
    names = draw.sample(sorted(counts), draw.choice([2, 3, 4]))
    windows = [(name, draw.randrange(max(1, counts[name] - WINDOW))) for name in names]
    return draw.choice(LEVELS), windows


def run(args):
    counts = sizes(args.ssdtune, args.traces)
    lines = args.out.read_text().splitlines() if args.out.exists() else []
    known = {(line["seed"], line["mix"]) for line in map(json.loads, lines)}
    for number in range(args.mixes):
        if (args.seed, number) in known:
            continue
        level, windows = drawn(args.seed, number, counts)
        with tempfile.TemporaryDirectory() as folder:
            cut = []
            for place, (name, first) in enumerate(windows):
                cut.append(f"{folder}/{place}.ssdt")
                convert = ["trace", "convert", args.traces / name, "--output", cut[-1]]
                call(args.ssdtune, *convert, "--skip", first, "--count", WINDOW)
            compare = ["keeper", "compare", "--model", args.model, "--even", "--level", level]
            compare += ["--requests", WINDOW, *args.flags.split(), "--trace", *cut]
            line = {"seed": args.seed, "mix": number, "level": level, "windows": windows}
            try:
                found = call(args.ssdtune, "--json", "--seed", args.seed, *compare)["lines"]
                line["plans"] = {
                    one["plan"]: [one["strategy"], one["over_shared"]] for one in found
                }
            except subprocess.CalledProcessError as error:
                line["refused"] = error.stderr.strip().splitlines()[-1]
        with args.out.open("a") as out:
            out.write(json.dumps(line) + "\n")
        print(line, flush=True)


def interval(values, figure):
    draw = random.Random(0)
    some = sorted(figure(draw.choices(values, k=len(values))) for _ in range(2000))
    return f"{figure(values):.1%} [{some[50]:.1%}, {some[1949]:.1%}]"


def show(args):
    lines = [json.loads(line) for line in args.out.read_text().splitlines()]
    for line in lines:
        if "refused" in line:
            print(f"seed {line['seed']}, mix {line['mix']} is refused: {line['refused']}")
    mixes = [line["plans"] for line in lines if "plans" in line]
    best = [
        next(over for name, (_, over) in plans.items() if name.startswith("best"))
        for plans in mixes
    ]
    gains = sum(b <= 0.9 for b in best)
    print(f"{len(mixes)} mixes; in {gains} the best strategy gains 10 % or more")
    print(
        "| plan | within 1 % of the best | more than 2 % above Shared | mean over Shared | taken |"
    )
    print("|---|---|---|---|---|")
    for plan in ["Shared", "Isolated", "Shared, dynamic", "SSDKeeper", "SSDKeeper + hybrid"]:
        if plan not in mixes[0]:
            continue
        pairs = [(plans[plan][1], b) for plans, b in zip(mixes, best)]
        near = interval(pairs, lambda all: sum(o <= 1.01 * b for o, b in all) / len(all))
        harm = interval(pairs, lambda all: sum(o > 1.02 for o, _ in all) / len(all))
        mean = interval(
            pairs, lambda all: math.exp(sum(math.log(o) for o, _ in all) / len(all)) - 1
        )
        some = [(o, b) for o, b in pairs if b <= 0.9]
        taken = sum(math.log(o) for o, _ in some) / sum(math.log(b) for _, b in some) if some else 0
        print(f"| {plan} | {near} | {harm} | {mean} | {taken:.0%} |")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    tasks = parser.add_subparsers(dest="task", required=True)
    task = tasks.add_parser("run")
    task.add_argument("ssdtune")
    task.add_argument("out", type=Path)
    task.add_argument("traces", type=Path)
    task.add_argument("--mixes", type=int, default=40)
    task.add_argument("--seed", type=int, default=1)
    task.add_argument("--model", default="configs/keeper/ssdkeeper.json")
    task.add_argument("--flags", default="", help="more flags of keeper compare")
    tasks.add_parser("show").add_argument("out", type=Path)
    args = parser.parse_args()
    run(args) if args.task == "run" else show(args)


if __name__ == "__main__":
    main()

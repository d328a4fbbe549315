"""Results of a study, a line of JSON each in one file: a study takes days, and goes on from its
file on any machine. A line says what it is of (target, seed, algorithm), with which program it was
made, and what came out. A search's curve has pairs of what was spent and the best until then.
"""

import argparse
import json
import subprocess
from pathlib import Path


def kept(out):
    """What a file holds, a dictionary for each line."""
    lines = out.read_text().splitlines() if out.exists() else []
    return [json.loads(line) for line in lines]


def keep(args, key, work):
    """Adds what `work()` gives to args.out under a key, unless the file has it."""
    if any(key.items() <= row.items() for row in kept(args.out)):
        return
    version = [args.ssdtune, "--version"]
    program = subprocess.run(version, check=True, capture_output=True, text=True).stdout.strip()
    row = key | {"program": program} | work()
    with args.out.open("a") as file:
        file.write(json.dumps(row) + "\n")
    best = f": {row['curve'][-1][1]:.4f} in the end" if "curve" in row else ""
    print(" ".join(str(value) for value in key.values()) + best, flush=True)


def stored(out):
    """The curves of a file, by target, seed and algorithm."""
    return {(row["target"], row["seed"], row["algorithm"]): row["curve"] for row in kept(out)}


def measure(args, targets, search):
    """Runs the searches that args.out does not hold. `search(algorithm, target, seed)` gives a
    curve."""
    first, last = map(int, args.seeds.split("-"))
    for seed in range(first, last + 1):
        for target in targets:
            for name in args.only.split(","):
                key = {"target": target, "seed": seed, "algorithm": name}
                keep(args, key, lambda: {"curve": rises(search(name, target, seed))})


def rises(curve):
    """The points where the best so far rises, and the last one: all that a curve tells."""
    kept = []
    for spent, best in curve:
        if not kept or best > kept[-1][1]:
            kept.append((spent, best))
    if kept[-1][0] < curve[-1][0]:
        kept.append((curve[-1][0], kept[-1][1]))
    return kept


def command_line(description, names, seeds, run, show):
    """A parser with the commands `run` and `show`, and both of them."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("run")
    command.add_argument("ssdtune")
    command.add_argument("out", type=Path)
    command.add_argument("--seeds", default=seeds)
    command.add_argument("--only", default=",".join(names))
    command.set_defaults(act=run)
    command = commands.add_parser("show")
    command.add_argument("out", type=Path)
    command.set_defaults(act=show)
    return parser, commands.choices.values()

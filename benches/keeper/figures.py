#!/usr/bin/env python3
"""Fig. 2, its sensitivity, the sweep of drives, Table V and Fig. 5 with several seeds, with intervals.

    figures.py run  SSDTUNE OUT [--only shares,drives,sweep,mixes] [--seeds 10]   # goes on where it was left
    figures.py show OUT

- shares: two tenants, one writing and one reading, every strategy (`keeper shares`, Fig. 2);
- drives: the most that any division gains there, on drives with other channels and chips;
- sweep:  60 even and 60 uneven mixes of four tenants on twelve drives (`keeper label`, seed 21);
- mixes:  Mix1 to Mix4 at four levels (`keeper compare`, Table V and Fig. 5).

A line of OUT for each run. Intervals of 95 % are of the mean of logarithms: over seeds by Student's
t, over the mixes of the sweep by bootstrap.
"""

import argparse
import json
import math
import random
import statistics
import subprocess
import tempfile
from pathlib import Path

DRIVES = [(40, 200), (667, 200), (667, 2000), (2400, 600)]
SWEEP = [(rate, us) for rate in (40, 160, 667, 2400) for us in (200, 600, 2000)]
MIXES = {
    "Mix1": "mds_0 mds_1 rsrch_0 prxy_0",
    "Mix2": "prxy_0 src_1 rsrch_0 mds_1",
    "Mix3": "web_2 mds_0 prxy_0 rsrch_0",
    "Mix4": "rsrch_0 web_2 mds_1 prxy_0",
}
LEVELS = [3, 8, 13, 18]
# Student's t for a two-sided interval of 95 %, with 1, 2, ... degrees of freedom.
T95 = [12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228]


def call(ssdtune, seed, *command):
    command = [ssdtune, "--json", "--seed", seed, "keeper", *command]
    done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def drive(rate, program_us):
    """The flags of a drive with channels of this rate in MT/s and programs of this many us."""
    latency = f"flash.page_program_latency_lsb_ns={1000 * program_us}"
    return ["--set", f"bus.rate_mts={rate}", "--set", latency]


def shares(ssdtune, seed, flags):
    """For each write share and strategy: write and read latency and their sum, over Shared."""
    found = call(ssdtune, seed, "shares", "--read-pages", 1, "--level", 16, *flags)
    whole = {}
    for one in found:
        own = [one[key] for key in ("write_ns", "read_ns", "total_ns")]
        whole.setdefault(f"{one['write_share']:.1f}", {})[one["strategy"]] = own
    for own in whole.values():
        base = own["Shared"]
        for name in own:
            own[name] = [round(a / b, 5) for a, b in zip(own[name], base)]
    return whole


def sweep(ssdtune, rate, program_us, uneven):
    """Of 60 mixes: the kind of the best strategy, and its total over that of Shared."""
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/labels.jsonl"
        flags = ["--tenants", 4, "--mixes", 60, "--requests", 15000, "--bursty", 0]
        flags += ["--uneven", uneven, "--out", out, *drive(rate, program_us)]
        call(ssdtune, 21, "label", *flags)
        mixes = [json.loads(line) for line in Path(out).read_text().splitlines()[1:]]
    found = []
    for mix in mixes:
        total = {
            str(one["strategy"]): one["means"]["read_ns"] + one["means"]["write_ns"]
            for one in mix["entries"]
            if one.get("behind") is None
        }
        best = min(total, key=total.get)
        found.append([best, round(total[best] / total["Shared"], 5)])
    return found


def wanted(args):
    """Every run: its key, and what makes its line."""
    only, tool = args.only.split(","), args.ssdtune
    for seed in range(1, args.seeds + 1):
        if "shares" in only:
            flags = ["--minority", 0, "--requests", 20000, "--rate-max", 17500]
            yield ["shares", seed], lambda flags=flags, seed=seed: shares(tool, seed, flags)
        for own in DRIVES if "drives" in only else []:
            for minority in (0, 0.05):
                flags = ["--minority", minority, "--requests", 15000, *drive(*own)]
                key = ["drives", seed, *own, minority]
                yield key, lambda flags=flags, seed=seed: shares(tool, seed, flags)
        for name, level in (
            [(name, level) for name in MIXES for level in LEVELS] if "mixes" in only else []
        ):
            flags = ["compare", "--model", args.model, "--workload", *MIXES[name].split()]
            flags += ["--level", level, "--requests", 20000, *args.flags.split()]

            def compare(flags=flags, seed=seed):
                lines = call(tool, seed, *flags)["lines"]
                return {
                    one["plan"]: [
                        one["strategy"],
                        round(one["over_shared"], 5),
                        one["slowdown"]["min_over_max"],
                    ]
                    for one in lines
                }

            figure = " ".join(["mixes", args.flags]).strip()
            yield [figure, seed, name, level], compare
    for own in SWEEP if "sweep" in only else []:
        for uneven in (0, 1):
            yield (
                ["sweep", 21, *own, uneven],
                lambda own=own, uneven=uneven: sweep(tool, *own, uneven),
            )


def run(args):
    lines = args.out.read_text().splitlines() if args.out.exists() else []
    known = [json.loads(line)["run"] for line in lines]
    for key, make in wanted(args):
        if key not in known:
            line = json.dumps({"run": key, "found": make()})
            with args.out.open("a") as out:
                out.write(line + "\n")
            print(key, flush=True)


def over_seeds(ratios):
    """The geometric mean of ratios with its interval."""
    logs = [math.log(ratio) for ratio in ratios]
    mean, count = statistics.fmean(logs), len(logs)
    off = 0.0
    if count > 1:
        t = T95[min(count - 1, len(T95)) - 1]
        off = t * statistics.stdev(logs) / math.sqrt(count)
    low, mid, high = (math.exp(mean + sign * off) for sign in (-1, 0, 1))
    digits = 2 if mid < 10 else 0
    return f"{mid:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def over_mixes(ratios):
    """How much is gained in the mean, in per cent, with its interval."""
    draw, logs = random.Random(0), [math.log(ratio) for ratio in ratios]
    some = sorted(statistics.fmean(draw.choices(logs, k=len(logs))) for _ in range(2000))
    gain = [100 * (1 - math.exp(log)) for log in (statistics.fmean(logs), some[1949], some[50])]
    return "{:.1f} [{:.1f}, {:.1f}]".format(*gain)


def group(lines, figure):
    """The lines of a figure by what their runs have beside figure and seed."""
    found = {}
    for line in lines:
        if line["run"][0] == figure:
            found.setdefault(tuple(line["run"][2:]), []).append(line["found"])
    return found


def best_division(found):
    """Over write shares: the division with the least geometric mean over the seeds, and its ratios."""
    options = []
    for share, strategies in found[0].items():
        for name in strategies:
            if name != "Shared":
                ratios = [own[share][name][2] for own in found]
                options.append((statistics.fmean(map(math.log, ratios)), share, name, ratios))
    return min(options)[1:]


def show_shares(lines):
    for found in group(lines, "shares").values():
        names = list(found[0]["0.1"])
        print(f"Fig. 2, {len(found)} seeds: the sum over that of Shared")
        print("| writes | " + " | ".join(names) + " |")
        print("|---" * (len(names) + 1) + "|")
        for share in found[0]:
            cells = [over_seeds([own[share][name][2] for own in found]) for name in names[1:]]
            print(f"| {float(share):.0%} | 1 | " + " | ".join(cells) + " |")
        share, name, ratios = best_division(found)
        print(f"the most: {name} at {float(share):.0%} writes, {over_seeds(ratios)}\n")
    for key, found in group(lines, "drives").items():
        share, name, ratios = best_division(found)
        rate, program_us, minority = key
        print(
            f"{rate} MT/s, {program_us} us, minority {minority}, {len(found)} seeds: the most is "
            f"{name} at {float(share):.0%} writes, {over_seeds(ratios)}"
        )


def show_sweep(lines):
    kinds = {}
    for (rate, us, uneven), [found] in group(lines, "sweep").items():
        own = kinds.setdefault((rate, us), {})
        own[uneven] = found
    print("\n| MT/s | program | gain of the best, even | uneven | four parts win, even / uneven |")
    print("|---|---|---|---|---|")
    for (rate, us), own in sorted(kinds.items()):
        gains = [over_mixes([ratio for _, ratio in own[uneven]]) for uneven in (0, 1)]
        parts = [sum(best.count(":") == 3 for best, _ in own[uneven]) for uneven in (0, 1)]
        print(f"| {rate} | {us} us | {gains[0]} % | {gains[1]} % | {parts[0]} / {parts[1]} |")


def show_mixes(lines, figure, what):
    plans = ["Shared", "Isolated", "Shared, dynamic", "SSDKeeper", "SSDKeeper + hybrid", "best"]
    if "allocation=dynamic" in figure:
        plans.remove("SSDKeeper + hybrid")
    print(f"\n{figure}: {what}")
    place = {"latencies over those of Shared": 1, "fairness": 2}[what]
    print(
        "\n| | level | seeds | " + " | ".join(plans) + " | divided by SSDKeeper, best is Shared |"
    )
    print("|---" * (len(plans) + 4) + "|")
    for (name, level), found in sorted(group(lines, figure).items()):
        cells = []
        for plan in plans:
            own = [
                next(own for key, own in one.items() if key == plan or key.startswith(plan + " of"))
                for one in found
            ]
            cells.append(over_seeds([one[place] for one in own]))
        divided = sum(one["SSDKeeper"][0] != "Shared" for one in found)
        shared = sum(
            own[0] == "Shared"
            for one in found
            for key, own in one.items()
            if key.startswith("best of")
        )
        row = [name, str(level), str(len(found)), *cells, f"{divided}, {shared}"]
        print("| " + " | ".join(row) + " |")


def show_taken(lines, figure):
    """Of the gains of 10 % and more of the best fixed strategy, by mix; intervals over seeds."""
    runs = [line for line in lines if line["run"][0] == figure]
    for name in MIXES:
        gains = {}
        for line in runs:
            best = next(own[1] for key, own in line["found"].items() if key.startswith("best of"))
            if line["run"][2] == name and best <= 0.9:
                gains.setdefault(line["run"][1], []).append((best, line["found"]))
        for plan in ["Shared, dynamic", "SSDKeeper", "SSDKeeper + hybrid"] if gains else []:
            if not all(plan in found for own in gains.values() for _, found in own):
                continue

            def taken(seeds, plan=plan, gains=gains):
                some = [one for seed in seeds for one in gains[seed]]
                logs = [(math.log(found[plan][1]), math.log(best)) for best, found in some]
                return sum(own for own, _ in logs) / sum(best for _, best in logs)

            draw, seeds = random.Random(0), sorted(gains)
            some = sorted(taken(draw.choices(seeds, k=len(seeds))) for _ in range(2000))
            count = sum(map(len, gains.values()))
            share = f"{taken(seeds):.0%} [{some[50]:.0%}, {some[1949]:.0%}]"
            print(f"{name}, {count} runs of {len(seeds)} seeds, {plan} takes {share}")


def show(args):
    lines = [json.loads(line) for line in args.out.read_text().splitlines()]
    show_shares(lines)
    show_sweep(lines)
    for figure in sorted({line["run"][0] for line in lines}):
        if figure.startswith("mixes"):
            show_mixes(lines, figure, "latencies over those of Shared")
            show_mixes(lines, figure, "fairness")
            show_taken(lines, figure)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    tasks = parser.add_subparsers(dest="task", required=True)
    task = tasks.add_parser("run")
    task.add_argument("ssdtune")
    task.add_argument("out", type=Path)
    task.add_argument("--only", default="shares,drives,sweep,mixes")
    task.add_argument("--seeds", type=int, default=10)
    task.add_argument("--model", default="configs/keeper/ssdkeeper.json")
    task.add_argument(
        "--flags", default="", help="more flags of keeper compare, with such a --model"
    )
    tasks.add_parser("show").add_argument("out", type=Path)
    args = parser.parse_args()
    run(args) if args.task == "run" else show(args)


if __name__ == "__main__":
    main()

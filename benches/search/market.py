#!/usr/bin/env python3
"""What `ssdtune search --space market` finds for real traces and models, and what is left of it on
requests that the search never saw.

    market.py run  SSDTUNE OUT TRACES [--seeds 0-9] [--only NAME,...] [--guesses FACTOR]
                        [--prices FACTOR] [--baselines NAME,...] [--space FILE]
                                        runs that are not in OUT yet
    market.py show OUT                  a table in Markdown
    market.py beside OUT...             the mean of both judged factors, a column for each OUT
    market.py paired WITHOUT WITH       its quotient, WITH over WITHOUT, run by run, and what of
                                        placement and victims the drives of WITH have

TRACES is the folder of real traces. A run learns from the first 20,000 requests of its target and is
judged on the 20,000 that follow, from five states of used drives. Both drives serve these requests
once more from data that lie as written once in order: `steady:0.9` scatters them by random writes
of single pages, which not every workload does. OUT grows by a line for each run, so that a study
goes on where it was left. With --guesses every time of every flash part that no public source tells
is FACTOR times as long, and with --prices each price that is a guess FACTOR times as high; such a
study has an OUT of its own.

Factors are geometric means over seeds. Their 95 % intervals take in both what the search's chance
adds (Student's t over seeds) and how far five states of a used drive tell a run (the mean over
seeds; the states are the same for all seeds): the root of the sum of both squares. For data in
order there is one state, so those hold the search's chance alone.
"""

import argparse
import json
import math
import resource
import statistics
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

from intervals import factor, spread, told

TARGETS = {
    "webserver": "blkreplay_linux-webserver-2.load.xz",
    "cloudphysics": "cloudphysics_libcachesim.vscsi.xz",
    "telegram": "mobile_telegram_exec.csv.xz",
    "hadoop": "hadoop_eternity10_D.csv.xz",
    "websearch": "websearch",
    "kvstore": "kvstore",
}
CONFIGS = Path(__file__).resolve().parents[2] / "configs"
BASELINES = ["intel-750-400gb", "micron-7450-max-800gb", "samsung-980-pro-1tb"]
# What a search says where neither drive has collected while it served the requests.
NEVER = "no garbage was collected"
REQUESTS = 20_000
BUDGET = 30


def with_guesses(factor, path):
    """Writes the catalogue of parts to `path`, every guessed time `factor` times as long."""
    guessed = []
    lines = []
    for line in (CONFIGS / "parts" / "market.toml").read_text().splitlines():
        key, _, value = line.partition(" = ")
        if key == "guessed":
            guessed = json.loads(value)
        elif key in guessed and key.endswith("_ns"):
            line = f"{key} = {round(float(value.split('#')[0]) * factor)}"
        lines.append(line)
    path.write_text("\n".join(lines) + "\n")


def with_guessed_prices(factor, path):
    """Writes the guessed prices to `path`, a file of constraints, each `factor` times as high."""
    lines = ["[prices]"]
    is_guessed = False
    for line in (CONFIGS / "prices" / "market.toml").read_text().splitlines():
        key, _, value = line.partition(" = ")
        if line.startswith("#"):
            is_guessed |= "guess" in line.lower()
        elif not line:
            is_guessed = False
        elif is_guessed:
            lines.append(f"{key} = {float(value) * factor}")
    path.write_text("\n".join(lines) + "\n")


def question(args, target, baseline, seed):
    """What search and grade have in common."""
    name = TARGETS[target]
    workload = str(args.traces / name) if "." in name else name
    return [
        *("--space", args.space, "--target", workload, "--others", "none", "--seed", str(seed)),
        *("--device", baseline, "--requests", str(REQUESTS)),
        *("--fit-addresses", "compact", "--no-db", "--threads", "1", "--json", "-q"),
    ]


def call(command):
    done = subprocess.run([str(word) for word in command], check=True, capture_output=True)
    return json.loads(done.stdout)


def found(args, target, baseline, seed, files):
    ask = [*question(args, target, baseline, seed), *files]
    search = ["--start", "steady:0.9", "--budget", BUDGET, "--prefix", REQUESTS // 5]
    result = call([args.ssdtune, "search", *ask, *search, "--patience", "1000"])
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as drive:
        drive.write(result["toml"])
        drive.flush()
        again = ["--start", "sequential:0.9", "--held-out", drive.name]
        in_order = call([args.ssdtune, "grade", *ask, *again])
    return summary(result) | {"in_order": in_order[0]["target"]}


def summary(result):
    """What is kept of a result document."""
    table = result["held_out"]["target"]
    alone = {" and ".join(own["keys"]): own["alone"] for own in result["importance"]}
    return {
        "notes": result["notes"],
        "alone": {keys: factors for keys, factors in alone.items() if factors is not None},
        "learned": result["training"]["target"]["speedup"],
        "judged": table["speedup"],
        "interval": table["interval"],
        "price": result["price"],
        "host_bytes": result["host_bytes"],
        "watts": [table[drive]["average_watts"] for drive in ("baseline", "own")],
        "endurance": result["endurance_bytes"],
        "pins": result["controller_pins"],
        "changes": {
            change["key"]: [change["baseline"], change["recommended"]]
            for change in result["parameters"]
        },
    }


def stored(out):
    lines = out.read_text().splitlines() if out.exists() else []
    return [json.loads(line) for line in lines]


def run(args):
    first, last = (int(part) for part in args.seeds.split("-"))
    done = {(row["target"], row["baseline"], row["seed"]) for row in stored(args.out)}
    files = []
    if args.guesses is not None:
        catalogue = args.out.with_suffix(".parts.toml")
        with_guesses(args.guesses, catalogue)
        files += ["--parts", str(catalogue)]
    if args.prices is not None:
        constraints = args.out.with_suffix(".constraints.toml")
        with_guessed_prices(args.prices, constraints)
        files += ["--constraints", str(constraints)]
    wanted = args.only.split(",") if args.only else list(TARGETS)
    for seed in range(first, last + 1):
        for target in wanted:
            for baseline in args.baselines.split(","):
                if (target, baseline, seed) in done:
                    continue
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                own = found(args, target, baseline, seed, files)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                row = {"target": target, "baseline": baseline, "seed": seed, "commit": args.commit}
                row["cpu_s"] = round(after.ru_utime - before.ru_utime, 1)
                row |= own
                with args.out.open("a") as file:
                    file.write(json.dumps(row) + "\n")
                judged = row["judged"]
                print(
                    f"{target} {baseline} {seed}: {judged['latency']:.2f} {judged['throughput']:.2f}"
                    f" {row['cpu_s']} s",
                    flush=True,
                )


def show(args):
    rows = stored(args.out)
    hours = sum(row["cpu_s"] for row in rows) / 3600
    print(f"{len(rows)} runs, {hours:.2f} CPU hours.\n")
    print(
        "| target | baseline | seeds | latency learned | latency judged | throughput learned |"
        " throughput judged | price | host capacity | price of each GiB | power | collected |"
        " parts chosen |"
    )
    print("|---" * 13 + "|")
    each(rows, first_cells)
    if any("in_order" not in row for row in rows):
        return
    print(
        "\n| target | baseline | one change alone, and its share of what was learned | "
        "data in order: latency judged | throughput judged |"
    )
    print("|---|---|---|---|---|")
    each(rows, second_cells)


def each(rows, cells):
    for target in TARGETS:
        for baseline in BASELINES:
            own = [r for r in rows if (r["target"], r["baseline"]) == (target, baseline)]
            if not own:
                continue
            print("| " + " | ".join([target, baseline, *cells(own)]) + " |")


def first_cells(own):
    cells = [str(len(own))]
    for figure in ("latency", "throughput"):
        cells.append(factor([math.log(row["learned"][figure]) for row in own]))
        cells.append(judged(own, figure))
    logs = {
        figure: [math.log(row[figure][1] / row[figure][0]) for row in own]
        for figure in ("price", "host_bytes", "watts")
    }
    each_gib = [price - size for price, size in zip(logs["price"], logs["host_bytes"])]
    cells += map(factor, [logs["price"], logs["host_bytes"], each_gib, logs["watts"]])
    silent = sum(any(NEVER in note for note in row["notes"]) for row in own)
    cells.append(f"{len(own) - silent} of {len(own)}")
    part = Counter(row["changes"].get("part", ["", "the baseline's"])[1] for row in own)
    return [*cells, ", ".join(f"{name} {count}" for name, count in part.most_common(3))]


def judged(own, figure):
    """What is left on later requests, with both chances in the interval."""
    middle, over_seeds = spread([math.log(row["judged"][figure]) for row in own])
    ends = [row["interval"][figure] for row in own]
    over_states = statistics.fmean(math.log(end["high"] / end["low"]) / 2 for end in ends)
    return told(middle, math.hypot(over_seeds, over_states))


def second_cells(own):
    first = [max(shares(row), key=lambda one: one[1], default=("none", 0.0)) for row in own]
    names = Counter(name for name, _ in first)
    alone = []
    for name, count in names.most_common(2):
        share = statistics.fmean(part for own_name, part in first if own_name == name)
        alone.append(f"{name} {count} of {len(own)}: {share:.0%}")
    order = [[row["in_order"][figure] for row in own] for figure in ("latency", "throughput")]
    return [", ".join(alone), *(factor(list(map(math.log, factors))) for factors in order)]


def shares(row):
    """What each change brings alone, as a share of the learned gain (of logarithms). Changes that
    only go together, such as a part and the layout that it needs, go by the first of them."""
    both = lambda factors: math.log(factors["latency"] * factors["throughput"])
    for keys, factors in row["alone"].items():
        first, *others = keys.split(" and ")
        yield first + " and layout" * bool(others), both(factors) / both(row["learned"])


def beside(args):
    studies = [stored(out) for out in args.out]
    print("| target | baseline | " + " | ".join(out.stem for out in args.out) + " |")
    print("|---|---|" + "---|" * len(studies))
    for target in TARGETS:
        for baseline in BASELINES:
            cells = []
            for rows in studies:
                own = [r for r in rows if (r["target"], r["baseline"]) == (target, baseline)]
                judged = [row["judged"] for row in own]
                logs = [math.log(both["latency"] * both["throughput"]) / 2 for both in judged]
                cells.append(factor(logs) if logs else "-")
            if "-" not in cells:
                print(f"| {target} | {baseline} | " + " | ".join(cells) + " |")


def paired(args):
    def kept(out):
        return {(r["target"], r["baseline"], r["seed"]): r for r in stored(out)}

    without, own = kept(args.without), kept(args.own)
    pairs = [(own[key], without[key]) for key in own if key in without]
    print("| target | baseline | pairs | learned | judged | placement | victims |")
    print("|---|---|---|---|---|---|---|")
    names = sorted({(row["target"], row["baseline"]) for row, _ in pairs})
    for name in [*names, None]:
        some = [pair for pair in pairs if name in (None, (pair[0]["target"], pair[0]["baseline"]))]
        cells = list(name or ("all", ""))
        cells.append(str(len(some)))
        for kind in ("learned", "judged"):
            logs = [
                sum(math.log(a[kind][f] / b[kind][f]) for f in ("latency", "throughput")) / 2
                for a, b in some
            ]
            cells.append(factor(logs))
        for key in ("placement.policy", "victims"):
            chosen = Counter(a["changes"].get(key, ["", "the baseline's"])[1] for a, _ in some)
            cells.append(", ".join(f"{value} {count}" for value, count in chosen.most_common()))
        print("| " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    actions = parser.add_subparsers(required=True)
    runs = actions.add_parser("run")
    runs.add_argument("ssdtune")
    runs.add_argument("out", type=Path)
    runs.add_argument("traces", type=Path)
    runs.add_argument("--seeds", default="0-9")
    runs.add_argument("--only")
    runs.add_argument("--guesses", type=float)
    runs.add_argument("--prices", type=float)
    runs.add_argument("--baselines", default=",".join(BASELINES))
    runs.add_argument("--space", default="market")
    runs.add_argument("--commit", required=True, help="that SSDTUNE was built from")
    runs.set_defaults(act=run)
    shows = actions.add_parser("show")
    shows.add_argument("out", type=Path)
    shows.set_defaults(act=show)
    several = actions.add_parser("beside")
    several.add_argument("out", type=Path, nargs="+")
    several.set_defaults(act=beside)
    both = actions.add_parser("paired")
    both.add_argument("without", type=Path)
    both.add_argument("own", type=Path, metavar="with")
    both.set_defaults(act=paired)
    args = parser.parse_args()
    args.act(args)


if __name__ == "__main__":
    main()

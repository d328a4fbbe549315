#!/usr/bin/env python3
"""AutoBlox's tables and figures, in its own space and with its own algorithm, on drives in use.

    tables.py run  SSDTUNE OUT [--seeds 0-2] [--only STUDY,...]   what is not in OUT yet
    tables.py show OUT [--only STUDY,...]                         tables in Markdown

The studies:

- `speedups` (Tables 1, 4, 5, 8 and 9, Figs. 7 and 8): a search for each target. The others are the
  workloads of the same table and count in the grade alone, as in the paper.
- `order` (Figs. 4, 5, 9 and 10): pruning for each of the seven, then three searches: with its
  order, with what it keeps but no order, and without it. The target alone counts.
- `weights` (Figs. 11 and 12): a search for each value of alpha and of beta, with the six others.
- `overheads` (Table 6): processor time of the parts of a search, each a command of its own.

The seed determines the models' traces and the search. Drives are half full and in steady state;
what is reported was measured on held-out traces from five states. OUT grows by a line for each
result. The paper's figures stand in `paper.py`.
"""

import argparse
import json
import math
import resource
import statistics
import subprocess
import tempfile
from pathlib import Path

import paper
from campaign import keep, kept, rises
from intervals import factor, spread
from optimisers import at, interval
from workloads import SEVEN

NEW = ["leveldb", "mysql", "hdfs", "vdi", "fiu", "radiusauth"]
LIMITS = {
    "intel-750": ["--constraints", "configs/constraints/nvme-mlc-512gb.toml"],
    "z-ssd": ["--power-budget", "25"],
    # Some workloads touch more than the drive has.
    "samsung-850-pro": [
        *("--constraints", "configs/constraints/sata-mlc-256gb.toml"),
        *("--fit-addresses", "wrap"),
    ],
}
# Looser limits where the baseline itself needs more than the 5 W that the constraints allow.
ROOM = {
    ("samsung-850-pro", "kvstore"): ["--power-budget", "12"],
    ("samsung-850-pro", "leveldb"): ["--power-budget", "12"],
}
# Each table of speedups: its baseline and its workloads.
TABLES = {
    "Table 1": ("intel-750", SEVEN),
    "Table 4": ("intel-750", NEW),
    "Table 8": ("z-ssd", SEVEN),
    "Table 9": ("samsung-850-pro", SEVEN),
}
WAYS = {"order": [], "no order": ["--ignore-order"], "no pruning": ["--ignore-pruning"]}
WEIGHTED = ["database", "kvstore", "livemaps"]
VALUES = [0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99]
DEFAULTS = {"alpha": 0.5, "beta": 0.1}
HEADINGS = {
    "alpha": "Fig. 11: speedups by alpha, the weight of throughput against latency",
    "beta": "Fig. 12: speedups by beta, the weight of the others against the target",
}
PARTS = ("latency", "throughput")


def document(command):
    done = subprocess.run([str(word) for word in command], check=True, capture_output=True)
    return json.loads(done.stdout)


def common(seed, target, others, requests):
    return [
        *("--space", "autoblox", "--start", "steady:0.5", "--requests", requests),
        *("--target", target, "--others", ",".join(others) or "none", "--seed", seed),
        *("--threads", "1", "--json", "-q"),
    ]


def search(args, seed, target, others, requests, more):
    command = [args.ssdtune, "search", *common(seed, target, others, requests)]
    command += ["--algorithm", "autoblox", "--max-harm", "1", *more]
    return document(command)


def rows(measured):
    """The factors of the target and of the others."""
    every = [measured["target"], *measured["others"]]
    return {row["workload"]: [row["speedup"][part] for part in PARTS] for row in every}


def result(found):
    """What is kept of a search."""
    row, effort = found["held_out"]["target"], found["effort"]
    curve = [(point["spent"], point["best_grade"]) for point in found["curve"]]
    changes = {own["key"]: [own["baseline"], own["recommended"]] for own in found["parameters"]}
    return {
        "held_out": rows(found["held_out"]),
        "alone": rows(found["ignoring_others"]),
        "learned": rows(found["training"]),
        "energy": row["own"]["energy_j"] / row["baseline"]["energy_j"],
        "watts": [row["baseline"]["average_watts"], row["own"]["average_watts"]],
        "parameters": changes,
        "effort": {key: effort[key] for key in ("proposals", "run", "requests", "seconds")},
        "curve": rises([(spent, best or 0.0) for spent, best in curve]),
    }


def speedups(args, seed):
    for device, workloads in TABLES.values():
        for target in workloads:
            others = [name for name in workloads if name != target]
            more = ["--device", device, *LIMITS[device], *ROOM.get((device, target), [])]
            more += ["--budget", "90", "--prefix", "600", "--no-db"]
            key = {"study": "speedups", "device": device, "target": target, "seed": seed}
            keep(args, key, lambda: result(search(args, seed, target, others, 3_000, more)))


def order(args, seed):
    for target in SEVEN:
        key = {"study": "order", "device": "intel-750", "target": target, "seed": seed}
        keep(args, key, lambda: pruned(args, seed, target))


def pruned(args, seed, target):
    with tempfile.TemporaryDirectory() as folder:
        db = ["--db", folder]
        command = [args.ssdtune, "prune", *common(seed, target, [], 2_000), "--no-pairs", *db]
        found = document(command)
        curves = {}
        for way, more in WAYS.items():
            more = [*more, *db, "--budget", "50", "--patience", "1000"]
            curves[way] = result(search(args, seed, target, [], 2_000, more))["curve"]
    coarse = {own["key"]: [own["performances"], finding(own)] for own in found["coarse"]}
    # Parameters that are none of this drive's are left out.
    coarse = {key: own for key, own in coarse.items() if own[1] not in ("no-effect", "not-swept")}
    # In tuning order; those that are not kept come last.
    fine = {own["key"]: [own["coefficient"], own["kept"]] for own in found["fine"]}
    return {
        "coarse": coarse,
        "fine": fine,
        "r_squared": found["r_squared"],
        "curves": curves,
    }


def finding(parameter):
    """A word for what the coarse stage says of a parameter; some say why as well."""
    found = parameter["finding"]
    return found if isinstance(found, str) else next(iter(found))


def weights(args, seed):
    for target in WEIGHTED:
        others = [name for name in SEVEN if name != target]
        for weight, default in DEFAULTS.items():
            for value in VALUES:
                if (weight, value) == ("beta", default):
                    # The row of alpha's default is the same search.
                    continue
                more = [f"--{weight}", value, "--budget", "25", "--prefix", "300", "--no-db"]
                key = {"study": "weights", "device": "intel-750", "target": target, "seed": seed}
                key["way"] = f"{weight}={value}"
                keep(args, key, lambda: result(search(args, seed, target, others, 1_500, more)))


def overheads(args, seed):
    for target in SEVEN:
        key = {"study": "overheads", "device": "intel-750", "target": target, "seed": seed}
        keep(args, key, lambda: timed(args, seed, target))


def timed(args, seed, target):
    """Seconds of processor time of each command, which has one thread. A search that is resumed
    when it has ended proposes all again, and finds in AutoDB what was measured: what it takes is
    the learning, the rest was simulation."""
    others = [name for name in SEVEN if name != target]
    with tempfile.TemporaryDirectory() as folder:
        db, trace = ["--db", folder + "/db"], folder + "/own.csv"
        held_out = ["--seed-set", "held-out", "--seed", seed]
        make = [args.ssdtune, "trace", "generate", target, "-n", 100_000, *held_out, "-q"]
        subprocess.run([str(word) for word in [*make, "-o", trace]], check=True)
        seconds = {}

        def clocked(name, work):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            found = work()
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds[name] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            return found

        own = [args.ssdtune, "workload"]
        clocked("learn", lambda: document([*own, "learn", "--bundled", *db, "--json", "-q"]))
        clocked("classify", lambda: document([*own, "classify", trace, *db, "--json", "-q"]))
        more = ["--device", "intel-750", *LIMITS["intel-750"], "--budget", "90", "--prefix", "600"]
        ask = lambda *also: search(args, seed, target, others, 3_000, [*more, *db, *also])
        effort = clocked("search", ask)["effort"]
        if clocked("resumed", lambda: ask("--resume"))["effort"]["run"] != 0:
            raise SystemExit(f"{target}, seed {seed}: a finished search was measured again")
    return {"seconds": seconds, "effort": {key: effort[key] for key in ("proposals", "requests")}}


STUDIES = {"speedups": speedups, "order": order, "weights": weights, "overheads": overheads}


def run(args):
    first, last = map(int, args.seeds.split("-"))
    for seed in range(first, last + 1):
        for study in args.only.split(","):
            STUDIES[study](args, seed)


def ratio(pair):
    return "/".join(f"{part:.2f}" for part in pair)


def mean(pairs):
    """The geometric mean of latency and of throughput."""
    return [math.exp(statistics.fmean(math.log(pair[part]) for pair in pairs)) for part in (0, 1)]


def others_of(row, measured):
    return [pair for name, pair in row[measured].items() if name != row["target"]]


def alone_or_better(row):
    """The best drive for the target alone, on the search's requests: changes that were taken back
    from the recommended drive may have cost something, so that no trial is as good."""
    drives = (row["alone"][row["target"]], row["learned"][row["target"]])
    return max(drives, key=lambda pair: sum(map(math.log, pair)))


def table(head, body):
    print("\n| " + " | ".join(head) + " |")
    print("|---" * len(head) + "|")
    for cells in body:
        print("| " + " | ".join(cells) + " |")


def print_speedups(found):
    for title, (device, workloads) in TABLES.items():
        own = [row for row in found if row["device"] == device and row["target"] in workloads]
        by = {name: [row for row in own if row["target"] == name] for name in workloads}
        by = {name: seeds for name, seeds in by.items() if seeds}
        if not by:
            continue
        print(f"\n### {title}: against {device}")
        targets(title, by)
        matrix(title, by)
        if title == "Table 1":
            parameters(by)


def targets(title, by):
    """A line for each target: the paper beside what is had here."""
    head = ["target", "seeds", "paper", "latency", "throughput", "others, paper", "others"]
    head += [
        "worst other",
        "ignoring others, paper",
        "ignoring others",
        "energy",
        "iterations",
        "s",
    ]
    body = []
    for name, seeds in by.items():
        workloads = [other for other in paper.TABLES[title][0].split() if other != name]
        published = [paper.speedup(title, other, name).split("/") for other in workloads]
        published = [[float(part) for part in pair] for pair in published]
        worst = [
            min(pair[part] for row in seeds for pair in others_of(row, "held_out"))
            for part in (0, 1)
        ]
        alone = paper.IGNORING_OTHERS.get(name, "-") if title == "Table 1" else "-"
        cells = [name, str(len(seeds)), paper.speedup(title, name, name)]
        for part in (0, 1):
            cells.append(factor([math.log(row["held_out"][name][part]) for row in seeds]))
        cells += [ratio(mean(published))]
        cells += [ratio(mean([pair for row in seeds for pair in others_of(row, "held_out")]))]
        cells += [ratio(worst), alone, ratio(mean([alone_or_better(row) for row in seeds]))]
        cells += [factor([math.log(row["energy"]) for row in seeds])]
        cells.append(f"{statistics.fmean(row['effort']['proposals'] for row in seeds):.0f}")
        cells.append(f"{min(row['effort']['seconds'] for row in seeds):.0f}")
        body.append(cells)
    table(head, body)
    means = [
        [
            statistics.fmean(math.log(row["held_out"][name][part]) for row in seeds)
            for part in (0, 1)
        ]
        for name, seeds in by.items()
    ]
    published = [paper.speedup(title, name, name).split("/") for name in by]
    latency, throughput = (factor([own[part] for own in means]) for part in (0, 1))
    print(
        f"\nOver targets (intervals over their means): latency {latency}, throughput {throughput}; "
        f"the paper {ratio(mean([[float(part) for part in pair] for pair in published]))}."
    )


def matrix(title, by):
    print("\nEach column a search, each row what a workload gets of it (the paper's in brackets):")
    body = []
    for workload in by:
        cells = [workload]
        for target, seeds in by.items():
            own = ratio(mean([row["held_out"][workload] for row in seeds]))
            own = f"**{own}**" if workload == target else own
            cells.append(f"{own} ({paper.speedup(title, workload, target)})")
        body.append(cells)
    table(["", *by], body)


def parameters(by):
    """The paper's Table 5: values of each seed, the most changed parameters first, and in brackets
    what the paper learned."""
    every = [row["parameters"] for seeds in by.values() for row in seeds]
    changed = [key for own in every for key in own]
    body = []
    for key in sorted({*changed, *paper.PARAMETERS}, key=lambda key: (-changed.count(key), key)):
        base, *learned = paper.parameter(key)
        base = next((words(key, own[key][0]) for own in every if key in own), base)
        cells = [key, base]
        for name, seeds in by.items():
            own = [row["parameters"].get(key) for row in seeds]
            texts = [words(key, change[1]) if change else base for change in own]
            text = texts[0] if len(set(texts)) == 1 else ", ".join(texts)
            text = "" if set(texts) == {base} else text
            cells.append(f"{text} ({learned[SEVEN.index(name)]})" if learned else text)
        body.append(cells)
    print("\nParameters (Table 5), blank where no seed changed them, in brackets the paper's:")
    table(["parameter", "baseline", *by], body)


def words(key, value):
    return f"{int(value) / 2**20:.0f} MiB" if key.endswith("capacity_bytes") else str(value)


def print_order(found):
    by = {name: [row for row in found if row["target"] == name] for name in SEVEN}
    by = {name: seeds for name, seeds in by.items() if seeds}
    print(
        "\n### Fig. 4: change of formula 1 (a natural logarithm; 0 is the baseline) "
        "at 16 times the value"
    )
    keys = sorted({key for row in found for key in row["coarse"]})
    table(
        ["parameter", *by], [[key, *(coarse(seeds, key) for seeds in by.values())] for key in keys]
    )
    print(
        "\n### Fig. 5: Ridge coefficients (formula 1, from the least to the greatest "
        "value of the space)"
    )
    keys = sorted({key for row in found for key in row["fine"]})
    body = [[key, *(fine(seeds, key) for seeds in by.values())] for key in keys]
    body.append(
        [
            "R²",
            *(
                f"{statistics.fmean(row['r_squared'] for row in seeds):.2f}"
                for seeds in by.values()
            ),
        ]
    )
    table(["parameter", *by], body)
    print(
        "\n### Figs. 9 and 10: best grade (a natural logarithm; 0 is the baseline) "
        "after 5 to 50 evaluations"
    )
    steps = [5, 10, 20, 30, 50]
    body = []
    for name, seeds in by.items():
        for way in WAYS:
            body.append(
                [
                    name,
                    way,
                    *(
                        f"{statistics.fmean(at(row['curves'][way], step) for row in seeds):.3f}"
                        for step in steps
                    ),
                ]
            )
    table(["target", "way", *map(str, steps)], body)
    print("\nOrder less the other ways, means of the targets:")
    body = []
    for way in list(WAYS)[1:]:
        cells = [way]
        for step in steps:
            # Seeds of one target are not independent, so the interval is over targets.
            means = [
                statistics.fmean(
                    at(row["curves"]["order"], step) - at(row["curves"][way], step) for row in seeds
                )
                for seeds in by.values()
            ]
            cells.append(interval(means))
        body.append(cells)
    table(["less", *map(str, steps)], body)


def coarse(seeds, key):
    """The performance at the greatest value that makes a drive, and which multiple of the
    baseline's that is."""
    own = [row["coarse"][key] for row in seeds if key in row["coarse"]]
    swept = [performances for performances, finding in own if finding != "not-exercised"]
    if not swept:
        return "not exercised" if own else ""
    # Steps of two; `None` where there is no such drive.
    last = min(max(n for n, one in enumerate(row) if one is not None) for row in swept)
    mean = statistics.fmean(row[last] for row in swept)
    return f"{mean:+.3f}" + ("" if last == 4 else f" ({2**last}x)")


def fine(seeds, key):
    own = [row["fine"][key] for row in seeds if key in row["fine"]]
    if not own:
        return ""
    spared = sum(not is_kept for _, is_kept in own) + len(seeds) - len(own)
    text = f"{statistics.fmean(value for value, _ in own):+.2f}"
    return text + (f" ({len(seeds) - spared} of {len(seeds)})" if spared else "")


def print_weights(found):
    for weight, default in DEFAULTS.items():
        print(f"\n### {HEADINGS[weight]} (0 to 1)")
        body = []
        for value in VALUES:
            way = f"alpha={DEFAULTS['alpha']}" if value == default else f"{weight}={value}"
            cells = [f"{value:g}"]
            for target in WEIGHTED:
                seeds = [row for row in found if row["target"] == target and row["way"] == way]
                if not seeds:
                    cells += ["", "", ""]
                    continue
                for part in (0, 1):
                    cells.append(factor([math.log(row["held_out"][target][part]) for row in seeds]))
                cells.append(
                    ratio(mean([pair for row in seeds for pair in others_of(row, "held_out")]))
                )
            body.append(cells)
        head = [
            f"{target}: {what}"
            for target in WEIGHTED
            for what in ("latency", "throughput", "others")
        ]
        table([weight, *head], body)


def print_overheads(found):
    print("## Overheads (Table 6)\n")
    proposals = lambda row: row["effort"]["proposals"]
    of = lambda row, name: row["seconds"][name]
    simulated = lambda row: of(row, "search") - of(row, "resumed")
    parts = [
        ("seven categories from their models", "0.57", lambda row: of(row, "learn")),
        (
            "features of 100,000 requests, comparison and look-up in AutoDB",
            "5.51 (0.84 + 4.65 + 0.02)",
            lambda row: of(row, "classify"),
        ),
        ("learning, each iteration", "2.75", lambda row: of(row, "resumed") / proposals(row)),
        ("validation, each iteration", "670.89", lambda row: simulated(row) / proposals(row)),
    ]
    seeds = {}
    for row in found:
        seeds.setdefault(row["seed"], []).append(row)
    body = []
    for name, published, part in parts:
        means = [statistics.fmean(map(part, rows)) for rows in seeds.values()]
        middle, half = spread(means)
        every = list(map(part, found))
        ends = f"[{middle - half:.4f}, {middle + half:.4f}]"
        body.append(
            [name, published, f"{middle:.4f} {ends}", f"{min(every):.4f}", f"{max(every):.4f}"]
        )
    table(["seconds", "the paper", "here, mean", "least", "greatest"], body)
    iterations = statistics.fmean(map(proposals, found))
    asked = statistics.fmean(row["effort"]["requests"] / proposals(row) for row in found)
    print(
        f"\n{len(found)} searches of {len(seeds)} seeds, {iterations:.0f} iterations in the mean, "
        f"{asked:,.0f} simulated requests an iteration.\n"
    )


PRINTERS = {
    "speedups": print_speedups,
    "order": print_order,
    "weights": print_weights,
    "overheads": print_overheads,
}


def show(args):
    found = kept(args.out)
    for study in args.only.split(","):
        PRINTERS[study]([row for row in found if row["study"] == study])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    for name, act in [("run", run), ("show", show)]:
        command = commands.add_parser(name)
        if name == "run":
            command.add_argument("ssdtune")
            command.add_argument("--seeds", default="0-2")
        command.add_argument("out", type=Path)
        command.add_argument("--only", default=",".join(STUDIES))
        command.set_defaults(act=act)
    args = parser.parse_args()
    args.act(args)


if __name__ == "__main__":
    main()

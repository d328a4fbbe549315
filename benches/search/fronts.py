#!/usr/bin/env python3
"""ssdtune's search with several aims against Optuna's NSGA-II and MOTPE and random search, at equal
numbers of simulated requests, by the hypervolume of what each has found.

    fronts.py run  SSDTUNE OUT --used FOLDER [--seeds 1-10] [--only NAME,...]   runs not in OUT
    fronts.py show OUT --used FOLDER                                            tables in Markdown

Needs `pip install optuna scipy`. Targets are real traces of FOLDER, each alone: their first 8,000
requests on drives that are 90 % full and long in use, in the space of drives that can be bought.
No drive may cost more than 1.2 times the baseline. A gain is the natural logarithm of how many
times better a drive is than the baseline; the reference of the hypervolume is half as good in
everything. The baseline is known to all from the start and free. The budget is --evals
measurements of the target in full. ssdtune's search spends some of it on prefixes; the others ask
`ssdtune grade --points --repair`, which measures in full. A drive that breaks a limit counts for
nobody.
"""

import json
import math
import subprocess
import warnings
from pathlib import Path

from campaign import command_line, measure, stored
from optimisers import REAL, interval

OWN = ["bayes"]
FOREIGN = ["random", "nsga2", "motpe"]
REQUESTS = 8_000
# Half as good as the baseline.
REFERENCE = -math.log(2.0)


def arguments(args, target, seed):
    trace = str(args.used / REAL[target])
    common = ["--target", trace, "--others", "none", "--requests", str(REQUESTS)]
    common += ["--device", "intel-750"]
    common += ["--space", "market", "--start", "steady:0.9", "--fit-addresses", "compact"]
    common += ["--max-price", "1.2x", "--no-db", "--threads", "1", "-q", "--seed", str(seed)]
    return common


def own(args, target, seed):
    """Points of (simulated requests, hypervolume), the baseline's own excluded."""
    command = [args.ssdtune, "search", *arguments(args, target, seed), "--aim", args.aim]
    command += ["--prefix", str(REQUESTS // 5), "--budget", str(args.evals)]
    done = subprocess.run(
        [*command, "--patience", "100000", "--json"], check=True, capture_output=True, text=True
    )
    answer = json.loads(done.stdout)
    curve, volumes = answer["curve"], answer["front"]["progress"]
    free = curve[0]["requests"]
    return [(point["requests"] - free, volume) for point, volume in zip(curve, volumes)]


class Desk:
    """A running `ssdtune grade --points --repair`, which answers each line with a line."""

    def __init__(self, args, target, seed):
        command = [args.ssdtune, "grade", *arguments(args, target, seed)]
        axes = subprocess.run([*command, "--axes"], check=True, capture_output=True, text=True)
        self.axes, self.aims = json.loads(axes.stdout), args.aim.split(",")
        self.process = subprocess.Popen(
            [*command, "--points", "--repair"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        # The baseline gains nothing and spends nothing.
        self.spent, self.found, self.budget = 0, [(0, [0.0] * len(self.aims))], budget(args)

    def ask(self, trial):
        """The gains of the drive that a trial of Optuna proposes."""
        values = {}
        for axis in self.axes:
            key, count = axis["key"], len(axis["values"])
            if axis["ordered"]:
                rank = trial.suggest_int(key, 0, count - 1)
            else:
                rank = trial.suggest_categorical(key, list(range(count)))
            values[key] = axis["values"][rank]
        self.process.stdin.write(json.dumps(values) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        self.spent = answer["requests"] - 2 * REQUESTS
        if self.spent >= self.budget:
            trial.study.stop()
        gains = answer.get("gains")
        if gains is None or answer.get("grade") is None:
            # Worse than the reference in everything.
            return [2.0 * REFERENCE] * len(self.aims)
        gains = [gains[aim] for aim in self.aims]
        self.found.append((self.spent, gains))
        return gains

    def baseline(self):
        return {axis["key"]: axis["values"].index(axis["baseline"]) for axis in self.axes}

    def curve(self):
        """The hypervolume after each drive, as `own` tells it."""
        points, front = [], []
        for spent, gains in self.found:
            above = [gain - REFERENCE for gain in gains]
            if min(above) > 0.0:
                front.append(above)
            points.append((spent, hypervolume(front)))
        return points

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def hypervolume(points):
    """The volume of all that is above zero and below one of the points: slices by the last aim."""
    if not points:
        return 0.0
    if len(points[0]) == 1:
        return max(point[0] for point in points)
    ordered, volume = sorted(points, key=lambda point: -point[-1]), 0.0
    for number, point in enumerate(ordered):
        below = ordered[number + 1][-1] if number + 1 < len(ordered) else 0.0
        if point[-1] > below:
            volume += (point[-1] - below) * hypervolume([own[:-1] for own in ordered[: number + 1]])
    return volume


def foreign(args, name, target, seed):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    # A population of 50 would see only its first generation within these budgets.
    sampler = {
        "random": lambda: optuna.samplers.RandomSampler(seed=seed),
        "nsga2": lambda: optuna.samplers.NSGAIISampler(seed=seed, population_size=10),
        "motpe": lambda: optuna.samplers.TPESampler(seed=seed, multivariate=True),
    }[name]()
    desk = Desk(args, target, seed)
    directions = ["maximize"] * len(desk.aims)
    study = optuna.create_study(directions=directions, sampler=sampler)
    study.enqueue_trial(desk.baseline())
    # Points beyond repair cost a turn and no requests: three times as many turns at most.
    study.optimize(desk.ask, n_trials=3 * args.evals + 1)
    curve = desk.curve()
    desk.close()
    return curve


def budget(args):
    """Requests: an open and a closed loop for each measurement."""
    return args.evals * 2 * REQUESTS


def targets(args):
    return list(REAL) if args.targets is None else args.targets.split(",")


def at(curve, spent_at_most):
    return max(volume for spent, volume in curve if spent <= spent_at_most)


def run(args):
    warnings.filterwarnings("ignore")

    def search(name, target, seed):
        return own(args, target, seed) if name in OWN else foreign(args, name, target, seed)

    measure(args, targets(args), search)


def show(args):
    found = stored(args.out)
    names = [name for name in OWN + FOREIGN if any(key[2] == name for key in found)]
    for share in (0.5, 1.0):
        limit = budget(args) * share
        print(f"\nHypervolume after {args.evals * share:.0f} evaluations, mean and 95 % interval:\n")
        table(found, names, args, lambda curve: at(curve, limit))
        print("\n`bayes` less each rival, pairs of equal seeds, in natural logarithms:\n")
        differences(found, names[1:], args, limit)


def table(found, names, args, value):
    print("| target | " + " | ".join(names) + " |")
    print("|---|" + "---|" * len(names))
    for target in targets(args):
        cells = []
        for name in names:
            own = [value(curve) for key, curve in found.items() if key[::2] == (target, name)]
            cells.append(interval(own))
        print(f"| {target} | " + " | ".join(cells) + " |")


def differences(found, rivals, args, limit):
    print("| target | " + " | ".join(rivals) + " |")
    print("|---|" + "---|" * len(rivals))
    pooled = {rival: [] for rival in rivals}
    for target in targets(args):
        cells = []
        for rival in rivals:
            pairs = []
            for (own_target, seed, name), curve in found.items():
                other = found.get((target, seed, rival))
                if (own_target, name) == (target, "bayes") and other is not None:
                    pairs.append(math.log(at(curve, limit) / at(other, limit)))
            pooled[rival] += pairs
            cells.append(interval(pairs))
        print(f"| {target} | " + " | ".join(cells) + " |")
    cells = [interval(pooled[rival]) for rival in rivals]
    print("| all | " + " | ".join(cells) + " |")


def main():
    parser, commands = command_line(__doc__, OWN + FOREIGN, "1-10", run, show)
    for command in commands:
        command.add_argument("--used", type=Path, metavar="FOLDER", help="the real traces")
        command.add_argument("--targets", help="only these of the targets")
        command.add_argument("--aim", default="latency,price,power", help="as of the search")
        command.add_argument("--evals", type=int, default=60, help="measurements of one search")
    args = parser.parse_args()
    args.act(args)


if __name__ == "__main__":
    main()

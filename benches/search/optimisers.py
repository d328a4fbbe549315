#!/usr/bin/env python3
"""ssdtune's algorithms against Optuna (TPE and GP), SMAC3 and TuRBO, at equal numbers of simulated
requests.

    optimisers.py run  SSDTUNE OUT [--seeds 1001-1010] [--only NAME,...]   runs that are not in OUT
    optimisers.py show OUT                                                 tables in Markdown

Needs `pip install optuna smac torch botorch`; `show` needs SciPy, which comes with them. The seed determines the search, and the traces of models. All
algorithms maximise the same grade. ssdtune's algorithms run as `ssdtune search`; the best grade is
read from the search's curve, where the budget of simulated requests is used up. The others ask
`ssdtune grade --points --repair`, which measures the target and the other workloads in full. The
budget is --evals such measurements (30, unless it is said otherwise).

Targets are three models beside each other on drives that hold what is touched. With --used FOLDER
they are real traces of that folder, each alone: their first 8,000 requests on drives that are 90 %
full and long in use. OUT grows by a line for each search, so that a study goes on where it was
left. Options of both commands must be the same for one OUT.
"""

import json
import math
import statistics
import subprocess
import warnings
from pathlib import Path

from campaign import command_line, measure, stored

MODELS = {
    "database": "websearch,recomm",
    "websearch": "database,recomm",
    "recomm": "database,websearch",
}
# Traces on which the default algorithm was developed (the first four; `mayun2` was looked at), and
# those that it had not seen.
REAL = {
    "webserver": "blkreplay_linux-webserver-2.load.xz",
    "mssql": "blkreplay_windows-mssql.load.xz",
    "cloudphysics": "cloudphysics_libcachesim.vscsi.xz",
    "telegram": "mobile_telegram_exec.csv.xz",
    "mayun2": "diskmon_mayun2.txt.xz",
    "postmark": "disksim_postmark-aligned2.trace.xz",
    "iozone": "disksim_iozone-aligned2-100K.trace.xz",
    "llm": "llm_opt7b_512tok.trace.xz",
    "slideshow": "mobile_slideshow_exec.csv.xz",
    "tencent": "caffeine_tencent_cloud_storage-sample.csv.xz",
    "youcut": "mobile_you_cut_exec.csv.xz",
    "hadoop": "hadoop_eternity10_D.csv.xz",
}
OWN = ["bayes", "autoblox", "random"]
FOREIGN = ["optuna-tpe", "optuna-gp", "smac3", "turbo"]


class Task:
    """What is searched for: targets, and what one measurement costs."""

    def __init__(self, args):
        self.evals, self.more, self.space = args.evals, args.set, args.space
        self.device = args.device
        if args.used is None:
            self.targets, self.requests, workloads = list(MODELS), 1_000, 3
        else:
            self.targets, self.requests, workloads = list(REAL), 8_000, 1
        self.used = args.used
        if args.targets is not None:
            self.targets = args.targets.split(",")
        # Requests of one measurement: an open and a closed loop on each of the workloads.
        self.cost = 2 * self.requests * workloads
        self.budget = self.evals * self.cost

    def arguments(self, target, seed):
        common = ["--requests", str(self.requests), "--no-db", "--threads", "1", "-q"]
        common += ["--space", self.space, "--device", self.device]
        for change in self.more:
            common += ["--set", change]
        if self.used is None:
            return [*common, "--target", target, "--others", MODELS[target], "--seed", str(seed)]
        used = ["--start", "steady:0.9", "--fit-addresses", "compact"]
        trace = str(self.used / REAL[target])
        return [*common, *used, "--target", trace, "--others", "none", "--seed", str(seed)]


def own(ssdtune, task, algorithm, target, seed):
    command = [
        ssdtune,
        "search",
        *task.arguments(target, seed),
        "--algorithm",
        algorithm,
        "--prefix",
        str(task.requests // 5),
    ]
    # A model's others count by their weight alone, as for the optimisers from elsewhere; what is
    # saved by leaving them out is spent on more proposals.
    budget = task.evals if task.used is not None else 3 * task.evals
    command += ["--max-harm", "1", "--budget", str(budget), "--patience", "100000", "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    curve = json.loads(done.stdout)["curve"]
    # Measuring the baseline is free for all algorithms.
    free = curve[0]["requests"]
    best = [point for point in curve if point["best_grade"] is not None]
    return [(point["requests"] - free, point["best_grade"]) for point in best]


class Desk:
    """A running `ssdtune grade --points --repair`, which answers each line with a line."""

    def __init__(self, ssdtune, task, target, seed):
        command = [ssdtune, "grade", *task.arguments(target, seed)]
        self.task = task
        self.axes = json.loads(
            subprocess.run([*command, "--axes"], check=True, capture_output=True, text=True).stdout
        )
        self.process = subprocess.Popen(
            [*command, "--points", "--repair"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.spent, self.best, self.curve = 0, 0.0, [(0, 0.0)]

    def ask(self, point):
        """The grade of a point, given as value indices; -1 for a drive that cannot be measured."""
        values = {axis["key"]: axis["values"][point[axis["key"]]] for axis in self.axes}
        self.process.stdin.write(json.dumps(values) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        # The baseline is measured first and is free for all algorithms.
        self.spent = answer["requests"] - self.task.cost
        grade = answer.get("grade")
        if grade is None:
            return -1.0
        self.best = max(self.best, grade)
        self.curve.append((self.spent, self.best))
        return grade

    def baseline(self):
        return {axis["key"]: axis["values"].index(axis["baseline"]) for axis in self.axes}

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def optuna_tpe(desk, seed):
    import optuna

    optuna_study(desk, optuna.samplers.TPESampler(seed=seed, multivariate=True))


def optuna_gp(desk, seed):
    import optuna
    import torch

    torch.set_num_threads(1)
    optuna_study(desk, optuna.samplers.GPSampler(seed=seed, deterministic_objective=True))


def optuna_study(desk, sampler):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.enqueue_trial(desk.baseline())

    def objective(trial):
        point = {}
        for axis in desk.axes:
            count = len(axis["values"])
            if axis["ordered"]:
                point[axis["key"]] = trial.suggest_int(axis["key"], 0, count - 1)
            else:
                point[axis["key"]] = trial.suggest_categorical(axis["key"], list(range(count)))
        return desk.ask(point)

    # One trial more: the first is the baseline, which is free.
    study.optimize(objective, n_trials=desk.task.evals + 1)


def smac3(desk, seed):
    import tempfile

    from ConfigSpace import Categorical, ConfigurationSpace, Integer
    from smac import HyperparameterOptimizationFacade, Scenario

    default = desk.baseline()
    space = ConfigurationSpace(seed=seed)
    names = {f"p{number}": axis for number, axis in enumerate(desk.axes)}
    for name, axis in names.items():
        count = len(axis["values"])
        if axis["ordered"]:
            space.add(Integer(name, (0, count - 1), default=default[axis["key"]]))
        else:
            space.add(Categorical(name, list(range(count)), default=default[axis["key"]]))

    def objective(config, seed=0):
        return -desk.ask({axis["key"]: int(config[name]) for name, axis in names.items()})

    with tempfile.TemporaryDirectory() as place:
        scenario = Scenario(
            space, n_trials=desk.task.evals + 1, deterministic=True, seed=seed, output_directory=place
        )
        initial = HyperparameterOptimizationFacade.get_initial_design(
            scenario, max_ratio=0.25, additional_configs=[space.get_default_configuration()]
        )
        facade = HyperparameterOptimizationFacade(
            scenario, objective, initial_design=initial, overwrite=True, logging_level=40
        )
        facade.optimize()


def turbo(desk, seed):
    """TuRBO-1 (Eriksson et al., 2019): Thompson sampling of a Gaussian process inside a box around
    the best point, which grows after successes and shrinks after failures. Values are ranks in the
    unit cube, rounded to the nearest. The box begins around the best of the first points, which are
    the baseline and a Sobol sequence."""
    import torch
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from gpytorch.mlls import ExactMarginalLogLikelihood
    from torch.quasirandom import SobolEngine

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    counts = [len(axis["values"]) for axis in desk.axes]
    keys, dim = [axis["key"] for axis in desk.axes], len(counts)

    def rounded(unit):
        return torch.tensor(
            [
                min(int(x * count), count - 1) / max(count - 1, 1)
                for x, count in zip(unit.tolist(), counts)
            ],
            dtype=torch.double,
        )

    def grade(x):
        ranks = [round(v * (count - 1)) for v, count in zip(x.tolist(), counts)]
        return desk.ask(dict(zip(keys, ranks)))

    base = desk.baseline()
    start = [base[key] / max(count - 1, 1) for key, count in zip(keys, counts)]
    xs = [torch.tensor(start, dtype=torch.double)]
    first = max(desk.task.evals // 4, 2)
    xs += [rounded(x) for x in SobolEngine(dim, scramble=True, seed=seed).draw(first)]
    ys = [grade(x) for x in xs]
    length, good, bad = 0.8, 0, 0
    while len(ys) <= desk.task.evals:
        x, y = torch.stack(xs), torch.tensor(ys, dtype=torch.double).unsqueeze(-1)
        model = SingleTaskGP(x, (y - y.mean()) / y.std().clamp_min(1e-9))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        centre, best = x[y.argmax()], y.max().item()
        scale = model.covar_module
        scale = getattr(scale, "base_kernel", scale).lengthscale.detach().squeeze()
        weights = scale / scale.log().mean().exp()
        low = (centre - weights * length / 2).clamp(0, 1)
        high = (centre + weights * length / 2).clamp(0, 1)
        draws = low + (high - low) * SobolEngine(dim, scramble=True).draw(1000).double()
        changed = torch.rand(1000, dim) <= min(20 / dim, 1.0)
        changed[~changed.any(1), torch.randint(dim, (1,))] = True
        points = torch.stack([rounded(point) for point in torch.where(changed, draws, centre)])
        with torch.no_grad():
            sample = model.posterior(points).rsample().squeeze()
        for chosen in sample.argsort(descending=True):
            if not (points[chosen] == x).all(1).any():
                break
        xs.append(points[chosen])
        ys.append(grade(xs[-1]))
        if ys[-1] > best + 1e-3 * abs(best):
            good, bad = good + 1, 0
        else:
            good, bad = 0, bad + 1
        if good == 3:
            length, good = min(2 * length, 1.6), 0
        elif bad == max(4, dim // 4):
            length, bad = max(length / 2, 0.5**7), 0


def foreign(ssdtune, task, name, target, seed):
    desk = Desk(ssdtune, task, target, seed)
    {"optuna-tpe": optuna_tpe, "optuna-gp": optuna_gp, "smac3": smac3, "turbo": turbo}[name](
        desk, seed
    )
    desk.close()
    return desk.curve


def at(curve, budget):
    return max((grade for spent, grade in curve if spent <= budget), default=0.0)


def run(args):
    warnings.filterwarnings("ignore")
    task = Task(args)

    def search(name, target, seed):
        measured = own if name in OWN else foreign
        return measured(args.ssdtune, task, name, target, seed)

    measure(args, task.targets, search)


def show(args):
    found, task = stored(args.out), Task(args)
    budget, evals = task.budget, task.evals
    names = [name for name in OWN + FOREIGN if any(key[2] == name for key in found)]
    for share in (0.5, 1.0):
        grades = {key: at(curve, budget * share) for key, curve in found.items()}
        print(
            f"\nBest grade after {evals * share:.0f} evaluations ({budget * share / 1000:.0f},000 "
            f"simulated requests), mean ± standard error:\n"
        )
        print("| target | " + " | ".join(names) + " |")
        print("|---|" + "---|" * len(names))
        for target in task.targets:
            cells = [
                spread(
                    [
                        grade
                        for (own, _, algorithm), grade in grades.items()
                        if (own, algorithm) == (target, name)
                    ]
                )
                for name in names
            ]
            print(f"| {target} | " + " | ".join(cells) + " |")
        print("\nPaired differences over all targets and seeds:\n")
        print("| | " + " | ".join(f"less {name}" for name in names) + " |")
        print("|---|" + "---|" * len(names))
        for name in names[:2]:
            cells = []
            for other in names:
                # An algorithm that proposes points beyond repair spends less than the budget:
                # compare at what both have spent.
                pairs = [
                    at(curve, min(budget * share, spent(found[target, seed, other], other, budget)))
                    - grades[target, seed, other]
                    for (target, seed, own), curve in found.items()
                    if own == name and (target, seed, other) in grades
                ]
                cells.append(
                    ""
                    if other == name
                    else f"{spread(pairs)} "
                    f"(better in {sum(pair > 0 for pair in pairs)} of {len(pairs)})"
                )
            print(f"| {name} | " + " | ".join(cells) + " |")
        verdicts(task, found, names, budget * share)


def verdicts(task, found, names, budget):
    """`bayes` less each rival on each target and pooled: the mean with its 95 % interval."""
    print("\n`bayes` less each rival, pairs of equal seeds, 95 % intervals:\n")
    others = [name for name in names if name != "bayes"]
    print("| target | " + " | ".join(others) + " |")
    print("|---|" + "---|" * len(others))
    pooled = {other: [] for other in others}
    for target in task.targets:
        cells = []
        for other in others:
            pairs = [
                at(curve, min(budget, spent(found[target, seed, other], other, budget)))
                - at(found[target, seed, other], budget)
                for (own, seed, name), curve in found.items()
                if (own, name) == (target, "bayes") and (target, seed, other) in found
            ]
            pooled[other] += pairs
            cells.append(interval(pairs))
        print(f"| {target} | " + " | ".join(cells) + " |")
    print("| all | " + " | ".join(interval(pooled[other]) for other in others) + " |")


def interval(values):
    from scipy.stats import t

    if len(values) < 2:
        return "-"
    error = statistics.stdev(values) / math.sqrt(len(values))
    half = t.ppf(0.975, len(values) - 1) * error
    mean = statistics.mean(values)
    return f"{mean:+.3f} ({mean - half:+.3f} to {mean + half:+.3f}; {len(values)})"


def spent(curve, name, budget):
    return curve[-1][0] if name in FOREIGN else budget


def spread(values):
    if len(values) < 2:
        return "-"
    return (
        f"{statistics.mean(values):.3f} ± {statistics.stdev(values) / math.sqrt(len(values)):.3f}"
    )


def main():
    parser, commands = command_line(__doc__, OWN + FOREIGN, "1001-1010", run, show)
    for command in commands:
        command.add_argument("--used", type=Path, metavar="FOLDER", help="real traces, used drives")
        command.add_argument("--space", default="autoblox", help="what may change")
        command.add_argument("--device", default="intel-750", help="the baseline")
        command.add_argument("--targets", help="only these of the targets")
        command.add_argument("--evals", type=int, default=30, help="measurements of one search")
        command.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    args = parser.parse_args()
    args.act(args)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Records what scikit-learn makes of the learners' test cases, and times it on the benches' cases.

    python3 -m venv /tmp/sk && /tmp/sk/bin/pip install scikit-learn
    /tmp/sk/bin/python tests/reference/learn_sklearn.py > tests/reference/learn_sklearn.json
    /tmp/sk/bin/python tests/reference/learn_sklearn.py --time      # one JSON line of milliseconds

Inputs are not stored: both sides draw them from SplitMix64, so this file and crates/learn/tests/sklearn.rs
must agree on how each case is drawn.
"""

import json
import math
import os
import statistics
import sys
import time
import warnings

# Small matrices gain nothing from threads; the timings may use what there is.
if "--time" not in sys.argv:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import sklearn
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, RationalQuadratic, WhiteKernel
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeRegressor

warnings.filterwarnings("ignore")
MASK = (1 << 64) - 1


class SplitMix:
    def __init__(self, seed):
        self.state = seed

    def uniform(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return ((z ^ (z >> 31)) >> 11) * 2.0**-53

    def matrix(self, rows, columns):
        return np.array([[self.uniform() for _ in range(columns)] for _ in range(rows)])


def smooth(draw, x):
    return np.array([math.sin(6.0 * r[0]) + r[1] ** 2 + 0.1 * (draw.uniform() - 0.5) for r in x])


def kernel(rbf, length, rq, alpha, ratio, noise):
    return (
        ConstantKernel(rbf) * RBF(length)
        + ConstantKernel(rq) * RationalQuadratic(ratio * length, alpha)
        + WhiteKernel(noise)
    )


def gp_case(seed, rows, columns, hyper, scales):
    draw = SplitMix(seed)
    x, asked = draw.matrix(rows, columns), draw.matrix(7, columns)
    y = smooth(draw, x)
    mean = 0.3
    # Lengths of one column each are the same as dividing the columns by them.
    model = GaussianProcessRegressor(kernel(hyper[0], 1.0, *hyper[1:]), alpha=0.0, optimizer=None)
    model.fit(x / scales, y - mean)
    means, deviations = model.predict(asked / scales, return_std=True)
    return {
        "seed": seed, "rows": rows, "columns": columns, "hyper": hyper, "scales": list(scales), "mean": mean,
        "likelihood": model.log_marginal_likelihood_value_,
        "means": list(means + mean), "variances_with_noise": list(deviations**2),
    }


def gp_trained(seed, rows, columns):
    draw = SplitMix(seed)
    x = draw.matrix(rows, columns)
    y = smooth(draw, x)
    y = (y - y.mean()) / y.std()
    start = kernel(0.5, 1.0, 0.5, 1.0, 1.0, 0.01)
    model = GaussianProcessRegressor(start, alpha=0.0, n_restarts_optimizer=10, random_state=1).fit(x, y)
    return {"seed": seed, "rows": rows, "columns": columns, "likelihood": model.log_marginal_likelihood_value_}


def gp_one_start(rows):
    draw = SplitMix(20)
    x = draw.matrix(rows, 58)
    y = smooth(draw, x)
    model = GaussianProcessRegressor(kernel(0.5, 3.0, 0.5, 1.0, 1.0, 0.01), alpha=0.0).fit(x, y - y.mean())
    return {"seed": 20, "rows": rows, "columns": 58, "likelihood": model.log_marginal_likelihood_value_}


def blobs(seed, rows, columns, clusters):
    draw = SplitMix(seed)
    centres = 10.0 * draw.matrix(clusters, columns)
    noise = [[sum(draw.uniform() for _ in range(3)) - 1.5 for _ in range(columns)] for _ in range(rows)]
    return np.array([centres[i % clusters] for i in range(rows)]) + 2.0 * np.array(noise)


def kmeans_case(seed, rows, columns, groups, clusters):
    model = KMeans(clusters, n_init=10, random_state=0, tol=1e-6).fit(blobs(seed, rows, columns, groups))
    return {"seed": seed, "rows": rows, "columns": columns, "groups": groups, "clusters": clusters,
            "inertia": model.inertia_}


def low_rank(seed, rows, columns):
    draw = SplitMix(seed)
    directions, weights = draw.matrix(9, columns) - 0.5, draw.matrix(rows, 9) - 0.5
    noise = draw.matrix(rows, columns) - 0.5
    return (weights * 0.6 ** np.arange(9)) @ directions + 0.05 * noise + 2.0


def pca_case(seed, rows, columns, keep):
    model = PCA(keep, svd_solver="full").fit(low_rank(seed, rows, columns))
    return {"seed": seed, "rows": rows, "columns": columns, "variances": list(model.explained_variance_),
            "ratios": list(model.explained_variance_ratio_), "components": model.components_.ravel().tolist()}


def ridge_case(seed, rows, columns, penalty):
    draw = SplitMix(seed)
    x = draw.matrix(rows, columns)
    y = smooth(draw, x)
    model = Ridge(penalty, solver="cholesky").fit(x, y)
    return {"seed": seed, "rows": rows, "columns": columns, "penalty": penalty,
            "coefficients": list(model.coef_), "intercept": model.intercept_}


def friedman(which, seed, rows):
    draw = SplitMix(seed)
    x = draw.matrix(rows, 10 if which == 1 else 4)
    if which == 1:
        clean = [10 * math.sin(math.pi * r[0] * r[1]) + 20 * (r[2] - 0.5) ** 2 + 10 * r[3] + 5 * r[4] + 2 for r in x]
    else:
        x = x * [100, 520 * math.pi, 1, 10] + [1, 40 * math.pi, 0, 1]
        part = [(r[0], r[1] * r[2] - 1 / (r[1] * r[3])) for r in x]
        clean = [math.hypot(a, b) for a, b in part] if which == 2 else [1 + math.atan(b / a) for a, b in part]
    noise = [0.95 + 0.1 * draw.uniform() for _ in x]
    return x, np.array(clean) * noise


def tree_case(which):
    x, y = friedman(which, 100 + which, 2000)
    asked, truth = friedman(which, 200 + which, 1000)
    mre = lambda model: float(np.mean(np.abs(model.predict(asked) - truth) / np.abs(truth)))
    path = DecisionTreeRegressor(min_samples_leaf=5).cost_complexity_pruning_path(x, y)
    alphas = np.unique(path.ccp_alphas[:: max(1, len(path.ccp_alphas) // 60)])
    tree = GridSearchCV(DecisionTreeRegressor(min_samples_leaf=5, random_state=0), {"ccp_alpha": alphas},
                        cv=KFold(10, shuffle=True, random_state=0), scoring="neg_mean_squared_error").fit(x, y)
    forest = RandomForestRegressor(100, random_state=0).fit(x, y)
    return {"function": which, "tree_mre": mre(tree), "forest_mre": mre(forest)}


def ten_classes(seed, rows):
    centres, draw = 4.0 * SplitMix(40).matrix(10, 9), SplitMix(seed)
    noise = [[sum(draw.uniform() for _ in range(6)) - 3.0 for _ in range(9)] for _ in range(rows)]
    labels = np.arange(rows) % 10
    return centres[labels] + 1.4 * np.array(noise), labels


def mlp_case(optimiser, rate, momentum):
    (x, labels), (asked, truth) = ten_classes(41, 1500), ten_classes(42, 1000)
    means, deviations = x.mean(axis=0), x.std(axis=0)
    solver = "adam" if optimiser == "adam" else "sgd"
    found = []
    for seed in range(5):
        network = MLPClassifier((32,), activation="logistic", solver=solver, learning_rate_init=rate, momentum=momentum,
                                nesterovs_momentum=False, alpha=0.0, batch_size=64, max_iter=30, tol=0.0,
                                n_iter_no_change=1000, random_state=seed)
        network.fit((x - means) / deviations, labels)
        found.append(network.score((asked - means) / deviations, truth))
    return {"optimiser": optimiser, "rate": rate, "momentum": momentum, "accuracy": float(np.mean(found))}


def record():
    hyper = [1.3, 0.7, 0.8, 1.7, 0.02]
    return {
        "about": f"scikit-learn {sklearn.__version__}; made by tests/reference/learn_sklearn.py, do not edit",
        "gp": [
            gp_case(1, 30, 3, hyper, [0.4] * 3),
            gp_case(2, 40, 58, [2.0, 0.3, 3.0, 0.5, 1e-4], [2.5] * 58),
            gp_case(3, 35, 4, hyper, [0.3, 0.6, 2.0, 7.0]),
        ],
        "gp_trained": [gp_trained(4, 40, 2), gp_trained(5, 60, 5)],
        "gp_one_start": [gp_one_start(100), gp_one_start(300)],
        "kmeans": [kmeans_case(6, 600, 5, 7, 7), kmeans_case(7, 500, 2, 9, 6), kmeans_case(8, 300, 8, 4, 10)],
        "pca": [pca_case(9, 60, 12, 4), pca_case(10, 30, 200, 5)],
        "ridge": [ridge_case(11, 40, 6, 0.5), ridge_case(12, 25, 10, 3.0)],
        "tree": [tree_case(which) for which in (1, 2, 3)],
        "mlp": [mlp_case("sgd", 0.2, 0.0), mlp_case("momentum", 0.1, 0.9), mlp_case("adam", 0.02, 0.0)],
    }


def milliseconds(run, times):
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        taken.append(1e3 * (time.perf_counter() - start))
    return round(statistics.median(taken), 4)


def timed_gp(rows):
    draw = SplitMix(20)
    x = draw.matrix(rows, 58)
    y = smooth(draw, x)
    start = kernel(0.5, 3.0, 0.5, 1.0, 1.0, 0.01)
    fit = lambda: GaussianProcessRegressor(start, alpha=0.0).fit(x, y - y.mean())
    model, asked = fit(), SplitMix(21).matrix(1000, 58)
    predict = milliseconds(lambda: model.predict(asked, return_std=True), 9)
    return milliseconds(fit, 3), predict, model.log_marginal_likelihood_value_


def measure():
    fit_100, predict_100, likelihood_100 = timed_gp(100)
    fit_300, _, likelihood_300 = timed_gp(300)
    points = blobs(22, 2560, 2, 6)
    start = points[:6].copy()
    wide = np.random.default_rng(0).random((400, 12000))
    rows, labels = SplitMix(23).matrix(3500, 9), np.arange(3500) % 42
    network = MLPClassifier((64,), activation="logistic", learning_rate_init=0.02, batch_size=64, max_iter=200,
                            tol=0.0, n_iter_no_change=1000, random_state=0)
    print(json.dumps({
        "gp_fit_100x58": fit_100, "gp_likelihood_100x58": likelihood_100, "gp_predict_1000_at_100": predict_100,
        "gp_fit_300x58": fit_300, "gp_likelihood_300x58": likelihood_300,
        "kmeans_2560x2_10_steps": milliseconds(
            lambda: KMeans(6, init=start, n_init=1, max_iter=10, tol=0.0).fit(points), 30),
        "pca_400x12000_to_5": milliseconds(lambda: PCA(5, svd_solver="full").fit(wide), 3),
        "pca_400x12000_to_5_randomized": milliseconds(lambda: PCA(5, svd_solver="randomized").fit(wide), 3),
        "mlp_9_64_42_200_epochs": milliseconds(lambda: network.fit(rows, labels), 1),
    }))


if __name__ == "__main__":
    if sys.argv[1:] == ["--time"]:
        measure()
    else:
        json.dump(record(), sys.stdout, indent=1)
        print()

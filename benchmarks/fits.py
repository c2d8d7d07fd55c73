"""Compare fits and tuning runs: CPU time of one thread, both sides in one run."""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import numpy as np
from plain_iml import PlainIML
from sklearn.model_selection import RandomizedSearchCV, StratifiedKFold, train_test_split
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from raremetric import IML, IMLCV, LMNN, RareClassifier, load_dataset
from raremetric.contenders.families import FOREST_GRID
from raremetric.losses.large_margin import make_large_margin_loss
from raremetric.metric import initial_components
from raremetric.solvers.smooth import minimize_lbfgs
from raremetric.study import read_study
from raremetric.study.protocol import run_task
from raremetric.study.tasks import Task
from raremetric.validation import check_labels, quiet_repeats

DATA = (
    "wine", "sonar", "pima", "vehicle", "german",
    "segmentation", "pageblocks", "splice", "spambase",
)  # fmt: skip
# Not used to choose the stopping rules.
OTHER_DATA = ("heart", "wdbc", "iono", "balance", "yeast", "abalone")
GRID = {
    "margin": [1, 10, 100, 1000, 10_000],
    "regularization": [0, 0.01, 0.1, 1, 10],
    "similar_weight": np.arange(0, 1.01, 0.05),
}
# Every metric that is large enough has a loss of zero: solved by SciPy's L-BFGS, see IML.
UNDETERMINED = {"margin": 1.0, "regularization": 0.0, "similar_weight": 0.0}
PUSH_WEIGHTS = (0.05, 0.25, 0.5, 0.75, 0.95)
PAPER = Path(__file__).parent.parent / "paper"  # its studies
REPEATS = 3  # of our fits, which take a few milliseconds; their mean is reported


def training_part(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The training part of the protocol's first split, standardized."""
    X, y = load_dataset(name, return_X_y=True)
    X, _, y, _ = train_test_split(
        np.asarray(X, dtype=float),
        np.asarray(y),
        test_size=0.7,
        stratify=y,
        random_state=np.random.RandomState(1),
    )
    return StandardScaler().fit_transform(X), y


def grid_points(n_points: int, seed: int = 0) -> list[dict[str, float]]:
    """Settings drawn at random from the paper's grid."""
    rng = np.random.RandomState(seed)
    return [
        {name: float(rng.choice(values)) for name, values in GRID.items()} for _ in range(n_points)
    ]


def compile_kernels(X, y) -> None:
    """Fit IML once on each path through the solvers, so that later fits are not compiled."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for params in ({}, UNDETERMINED):
            IML(**params).fit(X[:, :2], y)


def timed_fit(learner, X, y, clock=time.process_time) -> float:
    """Seconds that a fit takes: CPU time, unless another clock is given."""
    started = clock()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner.fit(X, y)
    return clock() - started


def compare_with_plain(names, n_points: int, seed: int = 0) -> list[dict]:
    """One row per data set: IML against the plain NumPy + SciPy version at the same settings."""
    rows = []
    for name in names:
        X, y = training_part(name)
        compile_kernels(X, y)
        seconds, plain_seconds, excess = 0.0, 0.0, []
        for setting in grid_points(n_points, seed):
            plain, ours = PlainIML(**setting), IML(**setting)
            plain_seconds += timed_fit(plain, X, y)
            seconds += np.mean([timed_fit(ours, X, y) for _ in range(REPEATS)])
            excess.append((ours.objective_ - plain.objective_) / max(plain.objective_, 1e-12))
        rows.append(
            {
                "data": name,
                "shape": list(X.shape),
                "seconds": seconds,
                "plain_seconds": plain_seconds,
                "ratio": plain_seconds / seconds,
                "excess": excess,
            }
        )
    return rows


def compare_with_nca(names) -> list[dict]:
    """One row per data set: IML against scikit-learn's NCA, both with their defaults."""
    rows = []
    for name in names:
        X, y = training_part(name)
        compile_kernels(X, y)
        seconds = timed_fit(IML(), X, y)
        other = timed_fit(NeighborhoodComponentsAnalysis(random_state=0), X, y)
        rows.append({"data": name, "seconds": seconds, "nca_seconds": other})
        rows[-1]["ratio"] = other / seconds
    return rows


def compare_lmnn(names) -> list[dict]:
    """One row per data set: LMNN at several push weights against plain L-BFGS on its exact loss.

    The plain descent starts from the principal axes and ends when an iteration gains less than
    1e-7 of the initial loss; both have at most 100 iterations. "path" is our time if each weight
    starts from the metric of the next larger one, as in tuning.
    """
    rows = []
    for name in names:
        X, y = training_part(name)
        timed_fit(LMNN(max_iter=2), X, y)  # compiles
        started = time.process_time()
        with quiet_repeats():
            LMNN.fit_settings([LMNN(push_weight=mu, max_iter=100) for mu in PUSH_WEIGHTS], X, y)
        path_seconds, seconds, plain_seconds, ratios = time.process_time() - started, 0.0, 0.0, []
        for weight in PUSH_WEIGHTS:
            ours, labels = LMNN(push_weight=weight, max_iter=100), check_labels(y, "LMNN")
            seconds += timed_fit(ours, X, y)
            loss = make_large_margin_loss(
                X, labels, ours.target_neighbors_, np.ones(len(X)), push_weight=weight
            )
            started = time.process_time()
            start = initial_components("pca", X)
            theirs = minimize_lbfgs(loss.value_and_gradient, start, max_iter=100, tol=1e-7)
            plain_seconds += time.process_time() - started
            ratios.append(ours.objective_ / theirs.value)
        rows.append({"data": name, "shape": list(X.shape), "seconds": seconds})
        rows[-1] |= {"path_seconds": path_seconds, "plain_seconds": plain_seconds}
        rows[-1] |= {"ratio": plain_seconds / path_seconds, "worst_objective_ratio": max(ratios)}
    return rows


def time_split(study_name: str, datasets=None) -> list[dict]:
    """One row per method of a study: seconds for the first split of its data sets."""
    study = read_study(PAPER / f"{study_name}.toml")
    seconds = dict.fromkeys((learner.name for learner in study.learners), 0.0)
    for learner in study.learners:
        run_task(Task("wine", None, study.resampling[0], 1, learner))  # compiles
        for name in datasets or study.datasets:
            started = time.process_time()
            run_task(Task(name, None, study.resampling[0], 1, learner))
            seconds[learner.name] += time.process_time() - started
    return [
        {"study": study_name, "method": name, "seconds": taken} for name, taken in seconds.items()
    ]


def best_determined(search, candidates) -> float:
    """The best score among candidates whose loss determines the metric.

    With λ = 0 and a = 0 (or 1), every metric that is large (or small) enough has a loss of zero.
    """
    determined = [c["regularization"] > 0 or 0 < c["similar_weight"] < 1 for c in candidates]
    return float(np.max(search.cv_results_["mean_test_score"][determined]))


def in_order(search) -> list[dict[str, float]]:
    """The candidates of a ``RandomizedSearchCV``, in the order in which it tried them."""
    return [
        {name.removeprefix("plainiml__"): value for name, value in params.items()}
        for params in search.cv_results_["params"]
    ]


def compare_tuning(names, n_candidates: int) -> list[dict]:
    """One row per data set: IMLCV against RandomizedSearchCV around the plain version.

    Both score the same candidates on the same five folds by the F1 of 3-NN.
    """
    rows = []
    candidates = grid_points(n_candidates, seed=1)
    for name in names:
        X, y = training_part(name)
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        ours = IMLCV(candidates=candidates, cv=folds, random_state=0)
        IMLCV(candidates=[candidates[0], UNDETERMINED], cv=folds).fit(X[:, :2], y)  # compiles
        seconds = timed_fit(ours, X, y)
        plain = RandomizedSearchCV(
            make_pipeline(PlainIML(), KNeighborsClassifier(3)),
            [{f"plainiml__{key}": [value] for key, value in c.items()} for c in candidates],
            n_iter=n_candidates,
            cv=folds,
            scoring="f1",
            random_state=0,
        )
        other = timed_fit(plain, X, y)
        seconds = (
            seconds + timed_fit(ours, X, y)
        ) / 2  # measured before and after, because the load may change
        rows.append(
            {
                "data": name,
                "seconds": seconds,
                "plain_seconds": other,
                "ratio": other / seconds,
                "score": float(ours.best_score_),
                "plain_score": float(plain.best_score_),
                "score_if_determined": best_determined(ours, candidates),
                "plain_score_if_determined": best_determined(plain, in_order(plain)),
            }
        )
    return rows


def tune_on_threads(names, n_candidates: int, repeats: int = 3) -> list[dict]:
    """Wall time of IMLCV with one thread and with two, alternating; the fastest run of each."""
    rows = []
    candidates = grid_points(n_candidates, seed=1)
    for name in names:
        X, y = training_part(name)
        compile_kernels(X, y)
        seconds: dict[int, float] = {}
        scores = []
        for n_jobs in (1, 2) * repeats:
            search = IMLCV(candidates=candidates, n_jobs=n_jobs, random_state=0)
            taken = timed_fit(search, X, y, time.perf_counter)
            seconds[n_jobs] = min(seconds.get(n_jobs, np.inf), taken)
            scores.append(search.cv_results_["mean_test_score"].tobytes())
        ratio = seconds[1] / seconds[2]
        rows.append({"data": name, "ratio": ratio, "same_scores": len(set(scores)) == 1})
    return rows


def compare_rare(
    n_samples: int, n_features: int, n_estimators: int, n_candidates: int
) -> list[dict]:
    """RareClassifier("fast") against a balanced random forest tuned by RandomizedSearchCV."""
    from imblearn.ensemble import BalancedRandomForestClassifier
    from sklearn.datasets import make_classification

    X, y = make_classification(
        n_samples, n_features, n_informative=n_features // 2, weights=[0.9], random_state=0
    )
    RareClassifier("fast").fit(X[:60, :2], np.arange(60) % 3 == 0)  # compiles
    seconds = timed_fit(RareClassifier("fast", random_state=0), X, y)
    forest = RandomizedSearchCV(
        BalancedRandomForestClassifier(n_estimators, random_state=0),
        FOREST_GRID,
        n_iter=n_candidates,
        cv=5,
        scoring="f1",
        random_state=0,
    )
    other = timed_fit(forest, X, y)
    shape = [n_samples, n_features]
    return [{"shape": shape, "seconds": seconds, "forest_seconds": other, "ratio": other / seconds}]


def subsample_large(n_samples: int, sizes: tuple[int, ...]) -> list[dict]:
    """RareClassifier("fast") on a large table, for several values of ``max_samples``."""
    from sklearn.datasets import make_classification
    from sklearn.metrics import average_precision_score, f1_score

    n_test = n_samples // 10
    X, y = make_classification(
        n_samples + n_test, 20, n_informative=8, n_clusters_per_class=4, weights=[0.98],
        flip_y=0.005, random_state=0,
    )  # fmt: skip
    rows = []
    for max_samples in sizes:
        model = RareClassifier("fast", max_samples=max_samples, random_state=0)
        seconds = timed_fit(model, X[:n_samples], y[:n_samples])
        X_test, y_test = X[n_samples:], y[n_samples:]
        rows.append(
            {
                "shape": [n_samples, 20],
                "max_samples": max_samples,
                "seconds": seconds,
                "f1": float(f1_score(y_test, model.predict(X_test))),
                "average_precision": float(
                    average_precision_score(y_test, model.decision_function(X_test))
                ),
            }
        )
    return rows

"""Gradient-boosted trees of XGBoost, LightGBM and CatBoost, with early stopping on the folds."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from raremetric.contenders.averaged import ClassifierFamily
from raremetric.extras import import_optional

MAX_ROWS_OF_TREES = 200_000  # that boosted trees learn from by default
PATIENCE = 50  # rounds without a lower log-loss after which training stops
BOOSTING_GRID: dict[str, list] = {
    "learning_rate": [0.03, 0.1, 0.3],
    "rounds": [50, 100, 200],
    "max_leaves": [3, 7, 15, 31],
    "min_child_weight": [0.1, 0.3, 1.0],
    "reg_lambda": [0.1, 1.0, 10.0],
    "subsample": [0.7, 1.0],
    "colsample_bynode": [0.5, 1.0],
    "balance": [False, True],
}
XGBOOST_GRID: dict[str, list] = {
    **{name: tried for name, tried in BOOSTING_GRID.items() if name not in ("rounds", "balance")},
    "max_rounds": [1000],
}
LIGHTGBM_GRID: dict[str, list] = {
    "learning_rate": [0.02, 0.05, 0.1],
    "max_rounds": [1000],
    "num_leaves": [7, 15, 31, 63],
    "min_child_samples": [50, 20, 5],
    "reg_lambda": [0.0, 1.0, 10.0],
    "subsample": [0.7, 1.0],
    "colsample_bytree": [0.5, 1.0],
}
# Its own default rate, 0.1, is meant for 100 rounds.
LIGHTGBM_DEFAULTS: dict[str, list] = {"rounds": [1000], "learning_rate": [0.05]}
CATBOOST_GRID: dict[str, list] = {
    "learning_rate": [0.03, 0.06, 0.1],
    "max_rounds": [1000],
    "depth": [4, 6, 8],
    "l2_leaf_reg": [1.0, 3.0, 10.0],
    "random_strength": [0.3, 1.0, 3.0],
    # Its default for 200 rounds or more. With fewer it is 1: another model than the first trees
    # of a longer run.
    "leaf_estimation_iterations": [10],
}
CATBOOST_DEFAULTS: dict[str, list] = {"rounds": [1000]}  # it chooses its rate itself


class Rows(NamedTuple):
    """Rows to learn from, or to stop on."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    weights: NDArray | None


class Boosters(ClassifierFamily):
    """Boosted trees of one library.

    A setting has either ``rounds``, or ``max_rounds``: then training on a fold stops when the
    log-loss of the validation rows has not fallen for `PATIENCE` rounds, and the trees after its
    minimum are dropped.

    Attributes
    ----------
    rounds_ : list of int
        The number of trees of each booster.
    """

    def fit(self, X, y, settings, seed, weights=None, validation=None) -> Boosters:
        """Train one booster for each setting: parameters of the library and rounds.

        Validation rows, with labels and weights, are those to stop on.
        """
        data = self._data(Rows(X, y, weights))
        stops = any("max_rounds" in each and "rounds" not in each for each in settings)
        held_out = self._data(Rows(*validation), data) if validation and stops else None
        totals = np.bincount(y, weights)
        self.boosters_, self.rounds_ = [], []
        for params in settings:
            given = dict(params)
            rounds, most = given.pop("rounds", None), given.pop("max_rounds", None)
            if given.pop("balance", False):
                given["scale_pos_weight"] = totals[0] / totals[1]
            stop_on = held_out if rounds is None and most is not None else None
            booster, n_trees = self._train(given, data, rounds or most or 100, seed, stop_on)
            self.boosters_.append(booster)
            self.rounds_.append(n_trees)
        return self

    def scores(self, X: NDArray) -> NDArray:
        """Log-odds."""
        return np.stack([self._log_odds(each, X) for each in self.boosters_])

    @abstractmethod
    def _data(self, rows: Rows, like: Any = None) -> Any:
        """Rows as the library wants them; ``like`` are those that are learned from."""

    @abstractmethod
    def _train(
        self, params: dict[str, Any], data: Any, rounds: int, seed: int, stop_on: Any
    ) -> tuple[Any, int]:
        """A booster and the number of its trees; ``stop_on`` are rows to stop on, or None."""

    @abstractmethod
    def _log_odds(self, booster: Any, X: NDArray) -> NDArray:
        """Log-odds of rows."""


class BoostedTrees(Boosters):
    """XGBoost: trees grown leaf by leaf on histograms that all settings share.

    With ``balance``, both classes have the same weight.
    """

    package = "xgboost"

    def _data(self, rows, like=None):
        xgboost = import_optional("xgboost", "Gradient boosting")
        return xgboost.QuantileDMatrix(rows.X, rows.y, weight=rows.weights, nthread=1, ref=like)

    def _train(self, params, data, rounds, seed, stop_on):
        xgboost = import_optional("xgboost", "Gradient boosting")
        given = {
            "objective": "binary:logistic",
            "grow_policy": "lossguide",
            "max_depth": 0,  # only the number of leaves is limited
            "nthread": 1,  # a study runs several processes
            "seed": seed,
            **params,
        }
        if stop_on is None:
            return xgboost.train(given, data, rounds), rounds
        watched = {"evals": [(stop_on, "validation")], "verbose_eval": False}
        booster = xgboost.train(given, data, rounds, early_stopping_rounds=PATIENCE, **watched)
        n_trees = booster.best_iteration + 1
        return booster[:n_trees], n_trees

    def _log_odds(self, booster, X):
        data = import_optional("xgboost", "Gradient boosting").DMatrix(X, nthread=1)
        return booster.predict(data, output_margin=True)

    def __getstate__(self) -> dict[str, Any]:
        """Boosters as arrays of bytes in XGBoost's own format, so that any file can hold them."""
        state = dict(super().__getstate__())
        if "boosters_" in state:
            raw = [each.save_raw() for each in state["boosters_"]]
            state["boosters_"] = [np.frombuffer(each, dtype=np.uint8).copy() for each in raw]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "boosters_" in state:
            xgboost = import_optional("xgboost", "Gradient boosting")
            self.boosters_ = [
                xgboost.Booster({"nthread": 1}, model_file=bytearray(raw.tobytes()))
                for raw in state["boosters_"]
            ]


class LightGBMs(Boosters):
    """LightGBM: trees grown leaf by leaf on histograms that all settings share."""

    package = "lightgbm"

    def _data(self, rows, like=None):
        lightgbm = import_optional("lightgbm", "LightGBM")
        shared = {"feature_pre_filter": False, "force_col_wise": True, "num_threads": 1}
        return lightgbm.Dataset(
            rows.X, rows.y, weight=rows.weights, reference=like, params={**shared, "verbose": -1}
        )

    def _train(self, params, data, rounds, seed, stop_on):
        lightgbm = import_optional("lightgbm", "LightGBM")
        given = {
            "objective": "binary",
            "subsample_freq": 1,
            "num_threads": 1,
            "deterministic": True,
            "force_col_wise": True,
            "seed": seed,
            "verbose": -1,
            **params,
        }
        if stop_on is None:
            return lightgbm.train(given, data, rounds), rounds
        stop = lightgbm.early_stopping(PATIENCE, verbose=False)
        booster = lightgbm.train(given, data, rounds, valid_sets=[stop_on], callbacks=[stop])
        return booster, booster.best_iteration

    def _log_odds(self, booster, X):
        return booster.predict(X, raw_score=True)  # up to the best iteration


class CatBoosts(Boosters):
    """CatBoost: symmetric trees with ordered boosting."""

    package = "catboost"

    def _data(self, rows, like=None):
        catboost = import_optional("catboost", "CatBoost")
        return catboost.Pool(rows.X, rows.y, weight=rows.weights)

    def _train(self, params, data, rounds, seed, stop_on):
        catboost = import_optional("catboost", "CatBoost")
        model = catboost.CatBoost(
            {
                "loss_function": "Logloss",
                "iterations": rounds,
                "thread_count": 1,
                "random_seed": seed,
                "allow_writing_files": False,
                "logging_level": "Silent",
                **params,
            }
        )
        stopping = {} if stop_on is None else {"early_stopping_rounds": PATIENCE}
        model.fit(data, eval_set=stop_on, **stopping)  # keeps the trees up to the best iteration
        return model, model.tree_count_

    def _log_odds(self, booster, X):
        return booster.predict(X, prediction_type="RawFormulaVal", thread_count=1)

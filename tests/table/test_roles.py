"""Columns with a role: groups and times in the tuning, weights in everything."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score, precision_recall_curve

from raremetric.contenders import scored
from raremetric.table import TableError, compare_table, fit_table
from raremetric.table.aims import MEASURES, best_beyond, cost_savings, measure_of
from raremetric.table.reading import tables
from raremetric.table.roles import (
    Roles,
    RowRoles,
    read_groups,
    read_times,
    read_weights,
    read_with_roles,
)
from raremetric.table.splitting import tuning_folds


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(scored.Scored, "n_for_table", 2)


@pytest.fixture(scope="module")
def leaking():
    """The columns identify the customer, and the class is drawn at random for each customer."""
    rng = np.random.default_rng(0)
    customers = np.repeat(np.arange(50), 4)
    fraud = (rng.permutation(50) < 15)[customers]
    values = rng.normal(size=(50, 3))[customers] + 0.01 * rng.normal(size=(200, 3))
    frame = pd.DataFrame(values, columns=list("abc"))
    frame["customer"] = [f"c{i:02d}" for i in customers]
    return frame.assign(state=np.where(fraud, "fraud", "fine"))


@pytest.mark.filterwarnings("ignore:The model is no better than chance")
@pytest.mark.parametrize("method", ["plain", "boosting"])
def test_the_score_of_fit_is_honest_with_groups(leaking, method):
    pytest.importorskip("xgboost")
    naive = fit_table(leaking, "state", method=method, ignore=["customer"])
    honest = fit_table(leaking, "state", method=method, group="customer")
    assert naive.training["score"] > 0.9
    assert honest.training["score"] < 0.6
    assert honest.training["folds"] == "no value of 'customer' is on both sides"
    assert honest.encoder.feature_names_in_.tolist() == ["a", "b", "c"]
    # New customers have new values: what is expected of them is what cross-validation says.
    rng = np.random.default_rng(1)
    new = pd.DataFrame(rng.normal(size=(2000, 3)), columns=list("abc"))
    actual = rng.random(2000) < 0.3
    found = f1_score(actual, honest.predict_table(new)["class"] == "fraud")
    assert found == pytest.approx(honest.training["score"], abs=0.2)
    assert found < naive.training["score"] - 0.3


def test_time_goes_forward_when_a_model_is_tuned():
    """In each period, positives are in another place, which the past cannot know."""
    rng = np.random.default_rng(0)
    y = rng.random(400) < 0.3
    places = 3 * rng.normal(size=(10, 4))[np.arange(400) // 40]
    values = np.where(y[:, np.newaxis], places, 3 * rng.normal(size=(400, 4)))
    frame = pd.DataFrame(values + 0.1 * rng.normal(size=(400, 4)), columns=list("abcd"))
    frame["day"] = range(400)
    frame["state"] = np.where(y, "ill", "well")
    frame = frame.sample(frac=1, random_state=0)
    shuffled = fit_table(frame, "state", method="plain", ignore=["day"])
    forward = fit_table(frame, "state", method="plain", time="day")
    assert shuffled.training["score"] > 0.9
    assert forward.training["score"] < 0.7
    assert "models of earlier rows, by 'day'" in forward.training["folds"]
    assert len(forward.X) == 400  # the final model is fitted on all rows


def test_inner_folds():
    rng = np.random.default_rng(0)
    y = (rng.random(300) < 0.2).astype(int)
    times, groups = rng.permutation(300).astype(float), rng.integers(0, 40, 300)
    assert tuning_folds(y, RowRoles(groups=groups)) is None  # a method makes them itself
    by_time = tuning_folds(y, RowRoles(times=times))
    assert len(by_time) == 5
    for train, validation in by_time:
        assert times[train].max() < times[validation].min()
        assert y[train].sum() >= 2
    for train, validation in tuning_folds(y, RowRoles(times=times, groups=groups)):
        assert times[train].max() < times[validation].min()
        assert not set(groups[train]) & set(groups[validation])
    with pytest.raises(ValueError, match="cannot be divided into an earlier part"):
        tuning_folds(y, RowRoles(times=np.zeros(300)))


@pytest.fixture(scope="module")
def weighted():
    rng = np.random.default_rng(0)
    y = rng.random(150) < 0.3
    frame = pd.DataFrame({"a": rng.normal(size=150) + y, "b": rng.normal(size=150)})
    frame["times"] = rng.integers(1, 5, 150)
    return frame.assign(state=np.where(y, "ill", "well"))


def test_a_model_with_weights_of_zero_reads_its_own_file(weighted, tmp_path):
    path = tmp_path / "commas.csv"
    frame = weighted.assign(times=weighted["times"].where(weighted.index != 7, 0))
    frame.round(3).to_csv(path, sep=";", decimal=",", index=False)
    with pytest.warns(UserWarning, match="1 rows have the weight 0 and are left out"):
        model = fit_table(path, "state", method="logistic", weight="times")
    assert model.predict(path).tolist() == model.predict(frame.round(3)).tolist()


@pytest.mark.parametrize("method", ["logistic", "plain"])
def test_weights_in_compare(weighted, method):
    found = compare_table(weighted, "state", methods=[method], weight="times", n_folds=3)
    assert len(found.columns) == 2
    assert "Rows count by their weight in 'times'" in found.protocol
    (results,) = found.entries().values()
    weights, y = weighted["times"].to_numpy(), found.y
    (row,) = found.summary()
    by_hand = [f1_score(y[r.test], r.predicted, sample_weight=weights[r.test]) for r in results]
    assert row["F1"]["mean"] == pytest.approx(np.mean(by_hand))
    rows, score = (np.concatenate([getattr(r, k) for r in results]) for k in ("test", "score"))
    if method == "logistic":
        top = rows[np.argsort(-score)[:20]]
        budget = next(each for each in found.budgets([20]))
        expected = weights[top] @ y[top] / weights[top].sum()
        assert budget["precision"] == pytest.approx(expected)
        assert budget["recall"] == pytest.approx(weights[top] @ y[top] / (weights @ y))
        assert budget["found"] == y[top].sum()


@pytest.mark.parametrize("method", ["logistic", "gmml", "sklearn.neighbors:KNeighborsClassifier"])
def test_weights_in_fit(weighted, method, tmp_path):
    frame = weighted.assign(times=weighted["times"].where(weighted.index != 7, 0))
    with pytest.warns(UserWarning, match="weight") as warned:
        model = fit_table(frame, "state", method=method, weight="times")
    messages = [str(each.message) for each in warned]
    assert "1 rows have the weight 0 and are left out." in messages
    assert any("cannot take weights" in text for text in messages) == ("KNeighbors" in method)
    assert len(model.X) == 149
    assert model.training["weight"] == "times"
    assert model.encoder.feature_names_in_.tolist() == ["a", "b"]
    found = model.predict_table(frame)
    p = model.classifier.predict_proba(model.encoder.transform(frame[["a", "b"]]))[:, 1]
    np.testing.assert_allclose(found["probability"], p)


def test_heavy_rows_move_the_probabilities(weighted):
    heavy = weighted.assign(times=np.where(weighted["state"] == "ill", 20, 1))
    plain = fit_table(weighted, "state", method="logistic", ignore=["times"])
    moved = fit_table(heavy, "state", method="logistic", weight="times")
    share = 20 * 0.3 / (20 * 0.3 + 0.7)
    p = moved.predict_table(heavy)["probability"]
    assert np.average(p, weights=heavy["times"]) == pytest.approx(share, abs=0.03)
    assert plain.predict_table(heavy)["probability"].mean() == pytest.approx(0.3, abs=0.05)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["1", "-2"], "'-2' in row 2 is not a finite number of at least 0"),
        (["1", "two"], "'two' in row 2"),
        (["1", ""], "'' in row 2"),
        (["inf", "1"], "'inf' in row 1"),
        (["0", "0"], "all of its values are 0"),
    ],
)
def test_invalid_weights(texts, message):
    with pytest.raises(ValueError, match=f"Column 'w' cannot be used as weight: .*{message}"):
        read_weights("w", texts)


def test_times_and_weights_are_read_as_features_are(tmp_path):
    for texts, numbers in (
        (["3", "1.5", "2"], [3, 1.5, 2]),
        (["990", "1,000", "2,500"], [990, 1000, 2500]),
        (["1,50", "0,25"], [1.5, 0.25]),
        (["0,06", "1"], [0.06, 1.0]),
    ):
        assert read_times("t", texts).tolist() == read_weights("w", texts).tolist() == numbers
    path, roles = tmp_path / "numbers.csv", Roles(time="t", weight="w")
    english = 't,w,a,y\n"1,000","1,500","1,500",u\n7,8,8,v\n9,"2,000","2,000",u\n'
    german = "t;w;a;y\n1.000;1,500;1,500;u\n7;8;8;v\n9;0,5;0,5;u\n"
    for text, n_notes in ((english, 4), (german, 0)):
        path.write_text(text)
        with warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always")
            table, found = read_with_roles(path, "y", None, (), (), roles)
        assert [str(note.message).count("a thousands separator") for note in notes] == [1] * n_notes
        assert found.times.tolist() == [1000, 7, 9]
        assert found.weights.tolist() == table.data["a"].tolist()


def test_groups_are_tidied_as_levels_are():
    codes = read_groups(["c1", "c1 ", "\u00a0c1", "1", "1.0", " ", "1.5", ""])
    assert codes.tolist() == [0, 0, 0, 1, 1, 3, 2, 4]  # rows without one are groups of their own


# Aims of a comparison.


def test_the_measure_of_each_aim():
    names = {
        "f1": "F1",
        "f0.5": "F0.5",
        "average_precision": "average precision",
        "precision>=0.8": "recall at precision 0.8",
        "recall>=0.90": "precision at recall 0.9",
    }
    assert {each: measure_of(each)[0] for each in names} == names
    assert measure_of([[0, 1], [5, 0]])[0] == "cost savings"
    assert measure_of("f1")[1] is MEASURES["F1"]


@pytest.mark.parametrize("weights", [None, np.arange(1.0, 41.0)])
def test_constraints_by_brute_force(weights):
    rng = np.random.default_rng(0)
    y = (rng.random(40) < 0.4).astype(int)
    score = (y + rng.normal(size=40)).round(1)
    own = np.ones(40) if weights is None else weights
    points = []
    for cut in np.unique(score):
        chosen = score >= cut
        hits = (own * y)[chosen].sum()
        points.append((hits / own[chosen].sum(), hits / (own * y).sum()))
    for minimum in (0.5, 0.8, 1.0):
        best_recall = max([r for p, r in points if p >= minimum], default=0)
        best_precision = max([p for p, r in points if r >= minimum], default=0)
        found = [
            best_beyond(y, None, score, weights, given=given, minimum=minimum)
            for given in ("precision", "recall")
        ]
        assert found == pytest.approx([best_recall, best_precision])


def test_cost_savings_by_hand():
    costs = np.array([[0.0, 1.0], [20.0, 0.0]])
    y = np.array([0] * 90 + [1] * 10)
    none, every = np.zeros(100, dtype=int), np.ones(100, dtype=int)
    settings = {"score": None, "weights": None, "costs": costs}
    assert cost_savings(y, every, **settings) == 0  # 90 is cheaper than 200
    assert cost_savings(y, none, **settings) == pytest.approx((90 - 200) / 90)
    assert cost_savings(y, y, **settings) == 1
    half = y.copy()
    half[:9] = 1
    assert cost_savings(y, half, **settings) == pytest.approx((90 - 9) / 90)


@pytest.mark.parametrize("scoring", ["precision>=0.6", "cost:fp=1,fn=5"])
def test_other_aims_in_compare(weighted, scoring):
    settings = {"methods": ["plain", "logistic"], "n_folds": 2, "ignore": ["times"]}
    found = compare_table(weighted, "state", scoring=scoring, **settings)
    name = "cost savings" if scoring.startswith("cost") else "recall at precision 0.6"
    assert next(iter(found.measures)) == found.aim == name
    for row, results in zip(found.summary(), found.entries().values(), strict=True):
        assert row[name]["mean"] <= 1
        if name.startswith("recall"):
            curves = [precision_recall_curve(found.y[r.test], r.score)[:2] for r in results]
            expected = np.mean([recall[precision >= 0.6].max() for precision, recall in curves])
            assert row[name]["mean"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("texts", "days"),
    [
        (["04.03.2024", "13.01.2024"], ["2024-03-04", "2024-01-13"]),
        (["04.03.2024", "05.01.2024"], ["2024-03-04", "2024-01-05"]),
        (["04/03/2024", "13/01/2024"], ["2024-03-04", "2024-01-13"]),
        (["04/03/2024", "01/13/2024"], ["2024-04-03", "2024-01-13"]),
        (["04.03.2024 17:30", "05.01.2024"], ["2024-03-04T17:30", "2024-01-05"]),
        (["2023-12-31 23:00", "2024-01-01"], ["2023-12-31T23", "2024-01-01"]),
        (["2024-03-04 01:00:00+02:00", "2024-03-04 00:00Z"], ["2024-03-03T23", "2024-03-04"]),
    ],
)
def test_dates_of_the_time_column(texts, days):
    expected = np.array(days, dtype="datetime64[us]").astype(float)
    np.testing.assert_array_equal(read_times("day", texts), expected)


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["04/03/2024", "05/01/2024"], "'04/03/2024', of which day and month cannot be dist"),
        (["04.03.2024", "13.01.2024", "2024-01-05"], "'2024-01-05' in row 3 is neither a number"),
        (["04.03.2024", ""], "'' in row 2 is neither a number nor a date"),
        (["1", "", "3"], "Column 'day' cannot be used as time: '' in row 2"),
        (["2024-03-01", "2023-12-31", "later"], "'later' in row 3"),
        (["1", "2", "04.03.2024"], "'04.03.2024' in row 3 is neither a number"),
        (["04.03.24", "13.01.24"], "'04.03.24' in row 1 is neither a number"),
        (["2024-03-04 01:00+02:00", "2024-03-04"], "with a time zone, .*, and without one, such"),
        (["1", "2,5", "1.5"], "'2,5' in row 2 is neither a number"),
    ],
)
def test_times_that_cannot_be_read(texts, words):
    with pytest.raises(TableError, match=words):
        read_times("day", texts)


@pytest.mark.filterwarnings("ignore:The model is no better than chance")
def test_a_file_with_several_roles_is_read_once(leaking, tmp_path, monkeypatch):
    read_arrow, paths = tables.read_arrow, []

    def counted(path, **settings):
        paths.append(path)
        return read_arrow(path, **settings)

    monkeypatch.setattr(tables, "read_arrow", counted)
    frame = leaking.assign(day=range(200), size=2.0, key=[f"{i:03d}" for i in range(200)])
    frame.to_csv(tmp_path / "roles.csv", index=False)
    settings = {"time": "day", "group": "customer", "weight": "size", "row_names": "key"}
    model = fit_table(tmp_path / "roles.csv", "state", method="plain", **settings)
    assert paths == [tmp_path / "roles.csv"]
    assert model.ids[:2].tolist() == ["000", "001"]
    assert model.training["weight"] == "size"
    assert model.encoder.feature_names_in_.tolist() == ["a", "b", "c", "day"]
    settings["ignore"] = ["day"]
    model = fit_table(tmp_path / "roles.csv", "state", method="plain", **settings)
    assert model.encoder.feature_names_in_.tolist() == ["a", "b", "c"]
    assert "by 'day'" in model.training["folds"]


@pytest.mark.filterwarnings("ignore:The model is no better than chance")
def test_the_same_column_can_have_two_roles(leaking):
    model = fit_table(leaking, "state", method="plain", group="customer", row_names="customer")
    assert model.training["folds"] == "no value of 'customer' is on both sides"
    assert model.ids[:2].tolist() == ["c00", "c00"]

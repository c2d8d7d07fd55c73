"""Notes about columns that a model should not use."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score

from raremetric.table import compare_table, fit_table
from raremetric.table.notes import date_notes, suspicious_columns

N = 400
RNG = np.random.default_rng(0)
Y = (np.arange(N) >= 360).astype(int)


@pytest.fixture(scope="module")
def frame():
    return pd.DataFrame(
        {
            "size": RNG.normal(size=N) + 2 * Y,
            "cents": RNG.choice(10**6, N, replace=False),
            "year": RNG.integers(1990, 2020, N),
            "color": pd.Categorical(RNG.choice(["red", "blue"], N)),
        }
    )


def test_an_ordinary_table_has_no_notes(frame):
    assert suspicious_columns(frame, Y) == []


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (np.full(N, 3.0), "has the same value in all rows"),
        (pd.Categorical(["x"] * N), "has the same value in all rows"),
        (1000 + 3 * np.arange(N), "counts the rows"),
        (9007199254740993.0 + 2 * np.arange(N), "seems to be an identifier"),  # repeated: rounded
        (-np.arange(N).astype(float), "counts the rows"),
        (RNG.permutation(N), "numbers the rows"),
        (pd.Categorical([f"u{i}" for i in range(N)]), "seems to be an identifier"),
        (np.where(Y, 7.0, np.nan), "alone determines the class"),
        (Y + RNG.random(N) / 2, "alone determines the class"),
        (1 - Y + RNG.random(N) / 2, "alone determines the class"),
        (pd.Categorical(np.where(Y, "paid", RNG.choice(["a", "b"], N))), "alone determines"),
    ],
)
def test_suspicious_columns(frame, values, sentence):
    order = RNG.permutation(N) if "counts" not in sentence else np.arange(N)
    found = suspicious_columns(frame.assign(**{"bad one": values}).iloc[order], Y[order])
    assert len([note for note in found if sentence in note]) == 1
    assert all(note.startswith("Column 'bad one'") for note in found)
    assert all(note.endswith("(--ignore 'bad one').") for note in found)


@pytest.mark.parametrize("names", [None, ["no", "yes"]])
@pytest.mark.parametrize(("n_wrong", "is_noted"), [(5, True), (7, False)])
def test_a_column_determines_the_class_from_an_f1_of_0_95_on(names, n_wrong, is_noted):
    y = np.repeat([1, 0], [120, 480])
    values = y.copy()
    values[:n_wrong], values[-n_wrong:] = 0, 1
    assert (f1_score(y, values) > 0.95) == is_noted
    column = values if names is None else pd.Categorical.from_codes(values, names)
    found = suspicious_columns(pd.DataFrame({"paid": column, "year": np.arange(600) % 7}), y)
    assert ["alone determines" in note for note in found] == [True] * is_noted


@pytest.mark.parametrize("numbers", [False, True])
def test_a_column_of_customers_may_be_a_group(frame, numbers):
    customers = pd.Series([7 * (i % 8) if Y[i] else 7 * (i % 30) + 3 for i in range(N)])
    customers = customers if numbers else customers.astype(str).astype("category")
    (found,) = suspicious_columns(frame.assign(**{"my id": customers}), Y)
    assert "'my id' alone determines the class" in found
    assert found.endswith("the results are honest with --group 'my id' only.")


@pytest.mark.parametrize(
    ("name", "is_noted"), [("customer_id", True), ("userID", True), ("Id", True), ("paid", False)]
)
def test_numbers_of_customers_may_be_a_group(frame, name, is_noted):
    numbers = 1000 + np.random.default_rng(0).integers(0, 200, N)
    found = suspicious_columns(frame.assign(**{name: numbers}), Y)
    sentence = "seems to be an identifier, and its numbers recur. Consider leaving it out"
    assert [f"Column {name!r} {sentence}" in note for note in found] == [True] * is_noted
    assert all(note.endswith(f"with --group {name} only.") for note in found)


def test_groups_are_not_advised_where_rows_are_grouped(frame):
    numbers, wide = np.random.default_rng(0).integers(0, 100, N), frame.assign(state=Y)
    wide["name"], wide["customer_id"] = [f"n{i}" for i in numbers % 60], numbers
    wide["job"] = [f"j{i}" for i in np.arange(N) % 100]
    options = {"method": "gmml", "max_samples": 100}
    for group, n_notes in ((None, 2), ("job", 0)):
        with pytest.warns(UserWarning, match="levels, more than 20") as found:
            notes = fit_table(wide, "state", group=group, **options).training["notes"]
        notes += [str(each.message) for each in found]
        assert sum("--group" in note for note in notes) == n_notes, notes


def test_many_columns_with_the_same_flaw_have_one_note(frame):
    constant = pd.DataFrame(1.0, index=range(N), columns=[f"x{i}" for i in range(1000)])
    wide = pd.concat([frame, constant], axis=1).assign(row=RNG.permutation(N))
    first, second = suspicious_columns(wide, Y)
    assert first == (
        "Each of 1000 columns ('x0', 'x1', 'x2', 'x3', 'x4' and 995 others) has the same value in "
        "all rows. Consider leaving them out (--ignore)."
    )
    assert second.startswith("Column 'row' numbers the rows")
    few = suspicious_columns(wide.iloc[:, : frame.shape[1] + 5], Y)
    assert [note.split()[1] for note in few] == [f"'x{i}'" for i in range(5)]


def test_a_row_number_in_a_sorted_file_is_found_twice(frame):
    found = suspicious_columns(frame.assign(index=np.arange(N)), Y)
    assert [("determines" in note, "counts" in note) for note in found] == [
        (True, False),
        (False, True),
    ]


@pytest.mark.parametrize("name", ["c", "c" * 5000])
def test_few_positives_and_many_classes_have_a_note(name):
    kind = np.where(np.arange(90) % 10 == 0, name, np.where(np.arange(90) % 2, "a", "b"))
    table = pd.DataFrame(RNG.normal(size=(90, 3)), columns=list("xyz")).assign(kind=kind)
    first, second = compare_table(table, "kind", methods=["plain"], n_folds=2).notes
    assert first.startswith("The target has 3 classes. They are taken for two, 'c")
    assert second.startswith("Only 9 rows are of class 'c")
    assert max(len(first), len(second)) < 1000  # a long name is shortened


@pytest.mark.parametrize("time", [None, "the day"])
def test_dates_have_a_note_unless_folds_are_made_by_time(frame, time):
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.permutation(N), unit="D")
    dated = frame[["size"]].assign(**{"the day": days, "y": Y})
    noted = [
        compare_table(dated, "y", methods=["plain"], n_folds=2, time=time).notes,
        fit_table(dated, "y", method="plain", time=time).training["notes"],
    ]
    sentence = (
        "Column 'the day' holds dates. If new rows are later than these, the results are honest "
        "with --time 'the day' only."
    )
    assert noted == [[sentence] if time is None else []] * 2


@pytest.mark.parametrize(
    ("n_columns", "start"),
    [
        (2, "Columns 'd0', 'd1' hold dates."),
        (7, "Columns 'd0', 'd1', 'd2', 'd3', 'd4' and 2 others hold dates."),
    ],
)
def test_columns_of_dates_have_one_note(n_columns, start):
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(N) % 30, unit="D")
    (note,) = date_notes(pd.DataFrame({f"d{i}": days for i in range(n_columns)}))
    assert note.startswith(start)
    assert note.endswith("the results are honest with --time and one of them only.")
    assert date_notes(pd.DataFrame({"d": days[:1].repeat(N)})) == []  # one day

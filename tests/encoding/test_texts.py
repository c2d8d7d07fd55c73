"""Text with many levels: n-grams, levels that were not seen, decoding, and no use of the target."""

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from typer.main import get_command

from raremetric import TableEncoder
from raremetric.cli import app

pytestmark = pytest.mark.filterwarnings("ignore:Column '.*' has .* levels")

MODELS = [f"{color} {shape}" for color in ("red", "blue", "green") for shape in range(1000, 1012)]
CITIES = [
    *("Amsterdam", "Berlin", "Copenhagen", "Dublin", "Edinburgh", "Florence", "Geneva", "Hamburg"),
]


def many(levels, repeats=2):
    return pd.DataFrame({"x": [*levels] * repeats})


def test_the_result_is_that_of_all_rows():
    """An independent computation: scikit-learn's TF-IDF, on every row instead of every level."""
    rng = np.random.default_rng(0)
    rows = rng.choice(MODELS, 300, p=rng.dirichlet(np.ones(len(MODELS))))
    counts = HashingVectorizer(
        analyzer="char_wb", ngram_range=(2, 4), n_features=4096, alternate_sign=False, norm=None
    )
    tfidf = TfidfTransformer().fit_transform(counts.transform(rows)).toarray()
    left, values, _ = np.linalg.svd(tfidf, full_matrices=False)
    expected = left[:, :10] * values[:10]
    frame = pd.DataFrame({"x": rows})
    encoded = TableEncoder().fit(frame).transform(frame)
    assert encoded.shape == (300, 10)
    # The signs of the columns are arbitrary.
    np.testing.assert_allclose(encoded @ encoded.T, expected @ expected.T, atol=1e-3)


def test_levels_that_are_written_alike_are_near():
    encoder = TableEncoder(max_levels=5).fit(many(CITIES))
    new = pd.DataFrame({"x": ["Copenhagen", "Copenhagne", "COPENHAGEN", "Dublin", "42"]})
    right, typo, upper, other, unknown = encoder.transform(new)
    assert np.linalg.norm(right - typo) < 0.5 * np.linalg.norm(right - other)
    np.testing.assert_allclose(right, upper, atol=1e-12)
    assert not unknown.any()  # no n-gram in common


def test_names_and_groups():
    table = many(CITIES).assign(n=1.5, y=[True, False] * 8)
    table.loc[3, "x"] = None
    encoder = TableEncoder(max_levels=5).fit(table)
    assert encoder.kinds_ == ["ngrams", "number", "onehot"]
    names = encoder.get_feature_names_out().tolist()
    assert names == [*(f"x text {i}" for i in range(1, 10)), "n", "y=True"]  # nine levels
    assert encoder.column_groups() == [[*range(9)], [9], [10]]


def test_the_warning_names_an_option_that_exists():
    words = r"Column 'my x' has 8 levels, more than 5, .* leave it out \(on .*: `--ignore 'my x'`\)"
    with pytest.warns(UserWarning, match=words):
        TableEncoder(max_levels=5).fit(pd.DataFrame({"my x": CITIES}))
    commands = get_command(app).commands
    for name in ("fit", "compare"):
        assert "--ignore" in {option for each in commands[name].params for option in each.opts}


@pytest.mark.parametrize("missing", [None, np.nan])
def test_numbers_written_as_text_should_be_converted(missing):
    ages = pd.Series([*map(str, range(18, 66)), missing], name="age")
    sentence = "Column 'age' holds numbers written as text: convert it with pandas.to_numeric"
    with pytest.warns(UserWarning, match=sentence) as found:
        TableEncoder().fit(ages.to_frame())
    assert "ignore" not in str(found[0].message)
    for codes, chosen in ((ages.astype("category"), None), (ages, ["age"])):  # no mistake
        with pytest.warns(UserWarning, match="49 levels, more than 20"):
            TableEncoder(categorical_features=chosen).fit(codes.to_frame())


def test_rows_are_encoded_alone():
    """The encoding of a row does not depend on the other rows, to the last bit."""
    encoder = TableEncoder().fit(many(MODELS))
    new = pd.DataFrame({"x": [*MODELS[::5], "redd 1001", "black 7", None]})
    together = encoder.transform(new)
    alone = np.concatenate([encoder.transform(new.iloc[[i]]) for i in range(len(new))])
    np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize(
    "levels",
    [
        ["", "-", "?"],
        ["a", "b", "c"],
        [" ", "x" * 10_000, "ü€"],
        [f"{a} {b}" for a in MODELS for b in MODELS],  # as many levels as rows
    ],
)
def test_short_strange_and_many_texts(levels):
    encoder = TableEncoder(max_levels=2).fit(many(levels, 1))
    encoded = encoder.transform(many([*levels, None]))
    assert np.isfinite(encoded).all()
    assert encoder.encoders_["x"].components_.shape[1] <= 4096

"""The page of a comparison in a real browser."""

import pytest

from raremetric.table.comparison import compare_table
from raremetric.table.pages.comparison import comparison_page
from tests.browser.conftest import BACKGROUND, DARK, LIGHT, assert_cut_boxes_fade, opened_page
from tests.table.conftest import make_table

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def comparison(tmp_path_factory):
    folder = tmp_path_factory.mktemp("comparison")
    make_table().to_csv(folder / "mine.csv", index=False)
    found = compare_table(
        folder / "mine.csv",
        "state",
        methods=["plain", "iml", "gmml", "logistic"],
        resamplings=["none", "smote"],
        n_folds=2,
        ignore=["id"],
    )
    path = folder / "page.html"
    path.write_text(comparison_page(found, "raremetric compare " + "x" * 300))
    return path.as_uri()


@pytest.fixture(params=[1280, 375])
def opened(request, chromium, comparison):
    yield from opened_page(chromium, comparison, request.param)


def test_the_table_sorts(opened):
    page = opened.page
    cells = page.locator("#results tbody tr > :nth-child(2)")
    page.locator("#results thead button").filter(has_text="F1").click()
    scores = [float(text.split()[0]) for text in cells.all_inner_texts()]
    assert len(scores) == 7
    assert scores == sorted(scores, reverse=True)


def test_all_figures_are_there_and_named(opened):
    page = opened.page
    assert page.locator("figure svg").count() == 3
    for figure in page.locator("figure").all():
        assert figure.get_attribute("aria-label") == figure.locator("figcaption").inner_text()
        assert figure.locator("svg").bounding_box()["height"] > 100
    assert [each.inner_text() for each in page.locator("h2").all()] == [
        "Notes",  # logistic regression is not resampled
        "Results",
        "Alerts",
        "Precision and recall",
        "Confusion matrices",
        "How the methods were tuned",
        "The table in two directions",
    ]


def test_it_fits_the_screen(opened):
    assert opened.page.evaluate(
        "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )


def test_theme(opened):
    page = opened.page
    assert page.evaluate(BACKGROUND) == LIGHT
    page.get_by_role("button", name="Dark theme").click()
    assert page.evaluate(BACKGROUND) == DARK
    ink = "getComputedStyle(document.querySelector('#curves svg')).color"
    assert page.evaluate(ink) == page.evaluate("getComputedStyle(document.body).color")


def test_what_is_cut_fades_out(opened):
    n_cut = assert_cut_boxes_fade(opened.page)
    if opened.page.viewport_size["width"] < 400:
        assert n_cut >= 1

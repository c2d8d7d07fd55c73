"""The page of a comparison in a real browser."""

import pytest

from raremetric.table.comparison import compare_table
from raremetric.table.comparison_page import comparison_page
from tests.browser.conftest import (
    assert_cut_boxes_fade,
    assert_fits_the_screen,
    assert_two_themes,
    opened_page,
)
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
    assert len(scores) == 4
    assert scores == sorted(scores, reverse=True)


def test_all_sections_and_the_figure_are_there_and_named(opened):
    page = opened.page
    assert page.locator("figure svg").count() == 2
    for figure in page.locator("figure").all():
        assert figure.get_attribute("aria-label") == figure.locator("figcaption").inner_text()
        assert figure.locator("svg").bounding_box()["height"] > 100
    assert [each.inner_text() for each in page.locator("h2").all()] == [
        "Results",
        "Alerts",
        "Precision and recall",
        "Reliability",
        "Confusion matrices",
    ]


def test_screens_and_themes(opened):
    assert_fits_the_screen(opened.page)
    assert_cut_boxes_fade(opened.page)
    assert_two_themes(opened.page)

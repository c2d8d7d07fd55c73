"""The report's page in a real browser: it sorts, changes its theme, and fits a phone."""

import pytest

from raremetric.study.report import write_report
from raremetric.study.tasks import StudyResults
from tests.browser.conftest import (
    BACKGROUND,
    DARK,
    LIGHT,
    assert_cut_boxes_fade,
    assert_fits_the_screen,
    assert_two_themes,
    opened_page,
)
from tests.study.report.synthetic import whole_paper

pytestmark = pytest.mark.browser

TABLE = "#table2 > .scroll table"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    out = tmp_path_factory.mktemp("report")
    table2, *others = whole_paper(seed=1)
    absent = (table2.rows["dataset"] == "iono") & (table2.rows["learner"] == "IML")
    results = [StudyResults(table2.study, table2.rows[~absent]), *others]
    details = {"Machine": "a test", "Command": "x" * 300}
    write_report(results, out, title="A study", details=details)
    return (out / "report.html").as_uri()


@pytest.fixture(params=[1280, 375])
def opened(request, chromium, report):
    yield from opened_page(chromium, report, request.param)


def heading(page, name):
    return page.locator(f"{TABLE} thead th").filter(has=page.get_by_role("button", name=name))


def column(page, number):
    cells = page.locator(f"{TABLE} tbody tr > :nth-child({number})")
    return [text.partition(" ")[0] for text in cells.all_inner_texts()]


def test_sorting_by_a_number(opened):
    page = opened.page
    first = column(page, 1)
    button = heading(page, "Euclidean").locator("button")
    button.click()
    assert heading(page, "Euclidean").get_attribute("aria-sort") == "descending"
    scores = [float(text) for text in column(page, 3)]
    assert scores == sorted(scores, reverse=True)
    assert column(page, 1) != first
    assert sorted(column(page, 1)) == sorted(first)
    button.click()
    assert heading(page, "Euclidean").get_attribute("aria-sort") == "ascending"
    assert [float(text) for text in column(page, 3)] == sorted(scores)
    button.click()
    assert heading(page, "Euclidean").get_attribute("aria-sort") is None
    assert column(page, 1) == first


def test_sorting_by_name_with_the_keyboard(opened):
    page = opened.page
    heading(page, "Data set").locator("button").focus()
    page.keyboard.press("Enter")
    assert heading(page, "Data set").get_attribute("aria-sort") == "ascending"
    assert column(page, 1) == sorted(column(page, 1))
    page.keyboard.press("Space")
    assert column(page, 1) == sorted(column(page, 1), reverse=True)


def test_missing_scores_stay_last_and_the_foot_below(opened):
    page = opened.page
    for _ in range(2):
        page.locator(f"{TABLE} thead th button").last.click()
        assert column(page, 7)[-1] == "–"
        last = page.locator(f"{TABLE} tr").last.inner_text()
        assert last.startswith("Average rank over 21 data sets")


def test_one_column_sorts_at_a_time(opened):
    page = opened.page
    page.locator(f"{TABLE} thead th button").nth(2).click()
    page.locator(f"{TABLE} thead th button").nth(3).click()
    assert page.locator(f"{TABLE} [aria-sort]").count() == 1


def test_theme(opened):
    page = opened.page
    assert_two_themes(page)
    assert page.locator("#theme_toggle").get_attribute("aria-pressed") == "true"
    page.reload()
    assert page.evaluate(BACKGROUND) == DARK
    page.get_by_role("button", name="Dark theme").click()
    assert page.evaluate(BACKGROUND) == LIGHT


def test_theme_of_the_system(opened):
    page = opened.page
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(BACKGROUND) == DARK
    assert page.locator("#theme_toggle").get_attribute("aria-pressed") == "true"
    page.locator("#theme_toggle").click()
    assert page.evaluate(BACKGROUND) == LIGHT


def test_the_page_never_scrolls_sideways(opened):
    page = opened.page
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert_fits_the_screen(page)
    assert page.locator("figure svg").count() == 5
    assert all(svg.bounding_box()["height"] > 100 for svg in page.locator("figure svg").all())


def test_what_is_cut_fades_out(opened):
    assert_cut_boxes_fade(opened.page)

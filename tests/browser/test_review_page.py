"""The page of a review in a real browser: keys, verdicts, filter, storage and export."""

import csv
import io

import pytest

from raremetric.table import fit_table
from raremetric.table.review import labeled_rows, review_file
from raremetric.table.review_page import review_page
from tests.browser.conftest import (
    assert_cut_boxes_fade,
    assert_fits_the_screen,
    assert_two_themes,
    opened_page,
)
from tests.table.conftest import make_table

pytestmark = pytest.mark.browser

BLOCKED = "Object.defineProperty(window, 'localStorage', { get() { throw new Error('no'); } })"


@pytest.fixture(scope="module")
def reviewed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("review")
    frame = make_table()
    # Ids that a spreadsheet would run, that contain HTML, and that are long.
    frame["id"] = [f"=r{i}" if i % 2 else f"<b>r{i}</b>{'x' * 40}" for i in range(len(frame))]
    frame.to_csv(folder / "mine.csv", index=False)
    model = fit_table(folder / "mine.csv", "state", method="iml", row_names="id")
    found = review_file(model, folder / "mine.csv", 12)
    (folder / "page.html").write_text(review_page(found, "raremetric review " + "x" * 300))
    return folder, found


@pytest.fixture(params=[1280, 375])
def opened(request, chromium, reviewed):
    url = (reviewed[0] / "page.html").as_uri()
    yield from opened_page(chromium, url, request.param)


def current(page):
    return page.locator("article.current .name").inner_text()


def read(download):
    return list(csv.DictReader(io.StringIO(download.path().read_text("utf-8-sig"))))


def test_moving_with_keys(opened, reviewed):
    page, alerts = opened.page, reviewed[1].alerts
    assert page.locator("article").count() == 12
    assert current(page) == alerts[0].id
    for key, rank in [("j", 1), ("ArrowDown", 2), ("k", 1), ("ArrowUp", 0), ("k", 0)]:
        page.keyboard.press(key)
        assert current(page) == alerts[rank].id
    assert page.locator("article .body:visible").count() == 1
    assert page.evaluate("document.activeElement.closest('article').id") == "alert_1"
    page.locator("#alert_5 .open").click()
    assert current(page) == alerts[4].id


def test_verdicts_stay_after_a_reload(opened):
    page = opened.page
    page.keyboard.press("y")
    page.keyboard.press("j")
    page.keyboard.press("n")
    page.keyboard.press("c")
    page.keyboard.type("jy: ask again")  # no commands inside a note
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.locator("article.current button", has_text="Unsure").click()
    page.keyboard.press("j")
    page.keyboard.press("y")
    page.keyboard.press("y")  # a verdict can be removed
    for _ in range(2):
        assert page.locator("#progress").inner_text() == "3 of 12 reviewed: 1 yes, 1 no, 1 unsure"
        marks = [page.locator(f"#alert_{rank} .mark").text_content() for rank in (1, 2, 3, 4)]
        assert marks == ["yes", "no", "unsure", ""]
        assert page.locator("#alert_2 textarea").input_value() == "jy: ask again"
        page.reload()


def test_filter(opened, reviewed):
    page, alerts = opened.page, reviewed[1].alerts
    page.keyboard.press("y")
    page.keyboard.press("/")
    page.keyboard.type(alerts[3].id.upper())
    assert page.locator("article:visible").count() == 1
    assert current(page) == alerts[3].id
    page.locator("#filter").fill("no such text")
    assert page.locator("article:visible").count() == 0
    assert page.get_by_text("No alert matches the filter.").is_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("y")  # nothing is selected, nothing happens
    page.locator("#filter").fill("")
    page.locator("#shown").select_option("open")
    assert page.locator("article:visible").count() == 11
    page.locator("#shown").select_option("yes")
    assert page.locator("article:visible .name").all_inner_texts() == [alerts[0].id]


def test_export(opened, reviewed, tmp_path):
    page, (folder, review) = opened.page, reviewed
    page.keyboard.press("y")
    page.keyboard.press("j")
    page.keyboard.press("n")
    page.locator("article.current textarea").fill('=1+1, "so"\nand more')
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("u")
    with page.expect_download() as info:
        page.get_by_role("button", name="Export CSV").click()
    assert info.value.suggested_filename == "mine-review.csv"
    lines = read(info.value)
    assert [line["row"] for line in lines] == [str(each.row) for each in review.alerts[:3]]
    assert [line["verdict"] for line in lines] == ["yes", "no", "unsure"]
    assert [line["label"] for line in lines] == ["ill", "well", ""]
    assert lines[1]["note"] == '\'=1+1, "so"\nand more'
    for line, alert in zip(lines, review.alerts, strict=False):
        assert line["id"] == ("'" if alert.id.startswith("=") else "") + alert.id
        assert float(line["probability"]) == alert.probability
    info.value.save_as(tmp_path / "review.csv")
    rows = labeled_rows(tmp_path / "review.csv", folder / "mine.csv", "state", row_names="id")
    labels = dict(zip([each.row for each in review.alerts], ["ill", "well"], strict=False))
    assert rows["state"].to_dict() == labels


def test_without_storage(chromium, reviewed):
    context = chromium.new_context()
    context.add_init_script(BLOCKED)
    page, errors = context.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((reviewed[0] / "page.html").as_uri())
    assert page.get_by_text("This browser does not keep the verdicts").is_visible()
    page.keyboard.press("y")
    assert page.locator("#progress").inner_text().startswith("1 of 12")
    with page.expect_download() as info:
        page.get_by_role("button", name="Export CSV").click()
    assert len(read(info.value)) == 1
    assert errors == []
    context.close()


def test_evidence(opened, reviewed):
    page, first = opened.page, reviewed[1].alerts[0]
    table = page.locator("#alert_1 table")
    assert table.locator("tbody th").all_inner_texts() == [e["column"] for e in first.columns]
    heads = table.locator("thead th").all_inner_texts()
    assert len(heads) == 3 + len(first.examples)
    for head, example in zip(heads[3:], first.examples, strict=True):
        assert head.startswith(example["id"])
        assert example["class"] in head
    moved = table.locator(".move").first.inner_text()
    assert moved.startswith(f"{first.columns[0]['contribution']:+.2f}".replace("-", "−"))


def test_screens_and_themes(opened):
    page = opened.page
    assert_cut_boxes_fade(page)
    page.locator("summary").first.click()
    assert page.get_by_text("leading apostrophe").is_visible()
    assert_fits_the_screen(page)
    assert_two_themes(page)

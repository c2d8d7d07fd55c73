"""A headless Chromium, or the reason why there is none."""

import shutil
from collections import namedtuple

import pytest

# Without the flags on networking, Chromium calls home at every start.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
Opened = namedtuple("Opened", "page problems")
BACKGROUND = "getComputedStyle(document.body).backgroundColor"
LIGHT, DARK = "rgb(255, 255, 255)", "rgb(21, 23, 27)"
NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def chromium():
    playwright = pytest.importorskip(
        "playwright.sync_api", reason='needs Playwright: pip install ".[browser]"'
    )
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


def opened_page(chromium, url, width):
    """A page, and all that the browser complains about or would load from elsewhere."""
    context = chromium.new_context(viewport={"width": width, "height": 800}, color_scheme="light")
    context.set_default_timeout(5_000)
    page, problems = context.new_page(), []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda sent: problems.append(sent.url) if sent.url != url else None)
    page.goto(url)
    yield Opened(page, problems)
    context.close()
    assert problems == []


def assert_two_themes(page):
    """A button changes the colors of the page, and of its figures, if there are any."""
    assert page.evaluate(BACKGROUND) == LIGHT
    page.get_by_role("button", name="Dark theme").click()
    assert page.evaluate(BACKGROUND) == DARK
    ink = "getComputedStyle(document.querySelector('figure svg') ?? document.body).color"
    assert page.evaluate(ink) == page.evaluate("getComputedStyle(document.body).color")


def assert_fits_the_screen(page):
    """The page does not scroll sideways."""
    width = "document.documentElement.{}Width"
    assert page.evaluate(f"{width.format('scroll')} <= {width.format('client')}")


def assert_cut_boxes_fade(page):
    """A table or figure that is wider than the screen fades out until it is scrolled to its end."""
    boxes = [box for box in page.locator(".scroll, .wide").all() if box.is_visible()]
    cut = [box for box in boxes if box.evaluate("box => box.scrollWidth > box.clientWidth")]
    assert page.locator(".more:visible").count() == len(cut)
    for box in cut:
        box.evaluate("box => box.scrollTo(box.scrollWidth, 0)")
        box.and_(page.locator(":not(.more)")).wait_for()
    assert cut or page.viewport_size["width"] >= 400

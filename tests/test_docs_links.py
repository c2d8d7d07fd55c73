"""Links of the pages, and the parts of the site that do not need Sphinx."""

import re
from pathlib import Path

import pytest

from docs._ext.site_config import GALLERY, site_links
from docs._ext.site_config import PAGES as ROOT_PAGES
from tests.test_docs import PAGES, ROOT, relative
from tools.links import dead_links, read_page


def anchors(path):
    """The fragments that GitHub gives to the headings of a page."""
    shown = re.match(r"The text of this page is \[[\w.]+\]\((.+)\)", path.read_text())
    if shown:  # see docs/_ext/site_pages.py
        path = path.parent / shown.group(1)
    headings = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=relative)
def test_links_lead_to_files_and_headings(path):
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    for target, fragment in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", text):
        if target.startswith(("https:", "http:", "mailto:")):
            continue
        file = path.parent / target if target else path
        if (
            target.endswith(".rst") and "gallery" in target
        ):  # written when the documentation is built
            script = Path(target).with_suffix(".py").name
            assert script == "index.py" or (ROOT / "examples" / "gallery" / script).exists(), target
            continue
        assert file.exists(), target
        assert not fragment or fragment in anchors(file), f"{target}#{fragment}"


def test_dead_links_of_built_pages_are_found(tmp_path):
    (tmp_path / "other.html").write_text('<p id="here">')
    page = '<a href="{}">'
    for link in ("other.html", "other.html#here", "#", "https://example.org/none"):
        (tmp_path / "page.html").write_text(page.format(link))
        read_page.cache_clear()
        assert dead_links(tmp_path) == []
    for link in ("none.html", "other.html#there", "#there", "../other.html", "/other.html"):
        (tmp_path / "page.html").write_text(page.format(link))
        read_page.cache_clear()
        assert len(dead_links(tmp_path)) == 1


@pytest.mark.parametrize(
    "tag", ['<script src="{}">', '<img src="{}">', '<link rel="stylesheet" href="{}">']
)
def test_what_is_loaded_from_the_network_is_found(tag, tmp_path):
    (tmp_path / "local.js").write_text("")
    for address, n_found in (("local.js", 0), ("https://example.org/a.js", 1), ("//a.org/b.js", 1)):
        (tmp_path / "page.html").write_text(tag.format(address))
        read_page.cache_clear()
        assert len(dead_links(tmp_path)) == n_found


def test_gallery_is_listed_in_order():
    scripts = {path.name for path in (ROOT / "examples" / "gallery").glob("*.py")} - {"plots.py"}
    assert sorted(GALLERY) == sorted(scripts)


def test_links_of_root_files_on_the_site():
    text = "[a](docs/study.md#x) [b](CHANGELOG.md) [c](Makefile) [d](https://a.org) [e](#here)"
    shown = "[a](study.md#x) b [c](../Makefile) [d](https://a.org) [e](#here)"
    assert site_links(text) == shown
    for page, file in ROOT_PAGES.items():
        assert (ROOT / file).exists()
        assert (ROOT / "docs" / f"{page}.md").exists()

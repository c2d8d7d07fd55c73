"""Check the links of HTML pages, and count their words: `python tools/links.py docs/_build`.

Every relative link must lead to a file in the folder, and its fragment to an element of that page.
No page may load a script, a style or an image from another site. The words are those of articles,
without numbers, code and its output, and without indexes and pages that show source code.
"""

from __future__ import annotations

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

NO_TEXT = {"_modules", "genindex.html", "search.html"}


def has_letter(word: str) -> bool:
    """Whether a part of a text is a word: numbers and punctuation are not."""
    return any(map(str.isalpha, word))


class Page(HTMLParser):
    """The links of a page, the ids that a link can lead to, and the number of words."""

    def __init__(self, path: Path):
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.ids: set[str] = {""}
        self.n_words = 0
        self.inside: list[str] = []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember what a tag links to, and its id."""
        if tag in ("article", "pre", "script"):
            self.inside.append(tag)
        values = {name: value for name, value in attrs if value is not None}
        self.ids.update(values[name] for name in ("id", "name") if name in values)
        self.links += [values[name] for name in ("href", "src") if name in values]
        if tag == "link" and values.get("rel") == "stylesheet":
            self.loaded.append(values.get("href", ""))
        self.loaded += [values["src"]] if "src" in values else []

    def handle_endtag(self, tag: str) -> None:
        """Remember the end of an article, or of code in it."""
        if self.inside and self.inside[-1] == tag:
            self.inside.pop()

    def handle_data(self, data: str) -> None:
        """Count words in articles."""
        if self.inside == ["article"]:
            self.n_words += sum(map(has_letter, data.split()))


@cache
def read_page(path: Path) -> Page:
    """A page, parsed once."""
    return Page(path)


def dead_links(folder: Path) -> list[str]:
    """The internal links of all pages that lead nowhere, and what is loaded from elsewhere."""
    found = []
    for path in sorted(folder.rglob("*.html")):
        elsewhere = [link for link in read_page(path).loaded if urlsplit(link).netloc]
        found += [f"{path}: {link} is loaded from the network" for link in elsewhere]
        for link in read_page(path).links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_relative_to(folder.resolve()) and parts.path:
                found.append(f"{path}: {link} leads out of {folder}")
            elif not target.is_file():
                found.append(f"{path}: {link} does not exist")
            elif target.suffix == ".html" and unquote(parts.fragment) not in read_page(target).ids:
                found.append(f"{path}: {link}: the page has no such anchor")
    return found


def main() -> int:
    """Print the dead links; the exit code is 1 if there are any."""
    folder = Path(sys.argv[1])
    pages = [path for path in folder.rglob("*.html") if not {*path.parts} & NO_TEXT]
    if not pages:
        print(f"There are no HTML pages in {folder}.")
        return 1
    found = dead_links(folder)
    n_words = sum(read_page(path).n_words for path in pages)
    summary = f"{len(pages)} pages, {n_words:,} words, {len(found)} dead internal links."
    print("\n".join([*found, summary]))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())

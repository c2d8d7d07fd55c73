"""Check the internal links of HTML pages: `python tools/links.py docs/_build`.

Every relative link must lead to a file in the folder, and its fragment to an element of that page.
No page may load a script, a style or an image from another site.
"""

from __future__ import annotations

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links of a page, and the ids that a link can lead to."""

    def __init__(self, path: Path):
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.ids: set[str] = {""}
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember what a tag links to, and its id."""
        values = {name: value for name, value in attrs if value is not None}
        self.ids.update(values[name] for name in ("id", "name") if name in values)
        self.links += [values[name] for name in ("href", "src") if name in values]
        if tag == "link" and values.get("rel") == "stylesheet":
            self.loaded.append(values.get("href", ""))
        self.loaded += [values["src"]] if "src" in values else []


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
    n_pages = len(list(folder.rglob("*.html")))
    if not n_pages:
        print(f"There are no HTML pages in {folder}.")
        return 1
    found = dead_links(folder)
    print("\n".join([*found, f"{n_pages} pages, {len(found)} dead internal links."]))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())

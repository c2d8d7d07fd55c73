"""What the site needs that does not depend on Sphinx: links, pages, the order of the gallery."""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from pkgutil import resolve_name

# Pages of the site whose text is a file in the root of the repository.
PAGES = {"contributing": "CONTRIBUTING.md", "security": "SECURITY.md"}
GALLERY = (
    "neighborhoods.py",
    "shrinking_minority.py",
    "smote.py",
    "votes_and_thresholds.py",
    "calibration.py",
    "costs_and_alerts.py",
    "explain_a_decision.py",
    "several_classes.py",
    "large_table.py",
    "own_learner.py",
    "one_call.py",
)


class GalleryOrder:
    """The order of the examples on the page of the gallery."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, name: str) -> int:
        """The position of an example; a new one must be listed above."""
        return GALLERY.index(name)

    def __repr__(self) -> str:
        return "GalleryOrder"


def hidden_members(name: str) -> list[str]:
    """The members of a class that its page does not repeat.

    They are those of scikit-learn's base classes, and what all metric learners share.
    """
    cls = resolve_name(name)
    hidden = []
    for member in (each for each in dir(cls) if not each.startswith("_")):
        home = next(base for base in cls.__mro__ if member in vars(base))
        shared = home.__name__ == "MetricLearner" and cls is not home
        if shared or home.__module__.startswith("sklearn") or member.endswith("_request"):
            hidden.append(member)
    return hidden


def read_inventories(folder: Path, out: Path) -> dict[str, tuple[str, str]]:
    """The mapping for intersphinx, from text files whose first line is the address of a site.

    `tools/inventories.py` writes the text files. Sphinx wants compressed ones, which are written
    to ``out``.
    """
    out.mkdir(parents=True, exist_ok=True)
    mapping = {}
    for path in sorted(folder.glob("*.txt")):
        address, lines = path.read_text("utf-8").split("\n", 1)
        header = (
            f"# Sphinx inventory version 2\n# Project: {path.stem}\n# Version: \n"
            "# The remainder of this file is compressed using zlib.\n"
        )
        target = out / f"{path.stem}.inv"
        target.write_bytes(header.encode() + zlib.compress(lines.encode()))
        mapping[path.stem] = (address, str(target))
    return mapping


def site_links(text: str) -> str:
    """Make the links of a file in the root of the repository relative to the folder docs.

    A link to a file that is not part of the site becomes its words.
    """
    names = {file: f"{page}.md" for page, file in PAGES.items()}
    names["README.md"] = "index.md"
    off_site = (
        *("CHANGELOG.md", "RELEASING.md", "CODE_OF_CONDUCT.md"),
        *("docs/decisions/", "docs/experiments/"),
    )

    def relative(match: re.Match) -> str:
        words, target, fragment = match.group(1), match.group(2), match.group(3) or ""
        if re.match(r"[a-z]+:", target) or not target:
            return match.group(0)
        if target.startswith(off_site):
            return words
        inside = target.startswith("docs/")
        other = target.removeprefix("docs/") if inside else f"../{target}"
        return f"[{words}]({names.get(target, other)}{fragment})"

    return re.sub(r"\[([^\]]*)\]\(([^)#\s]*)(#[^)\s]*)?\)", relative, text)

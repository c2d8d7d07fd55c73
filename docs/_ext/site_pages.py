"""Pages of the site that are files of the repository, and files that are copied to the site."""

from __future__ import annotations

import re
import shutil
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
# Pages of the site whose text is a file in the root of the repository.
PAGES = {
    "contributing": "CONTRIBUTING.md",
    "releasing": "RELEASING.md",
    "whats-new": "CHANGELOG.md",
    "security": "SECURITY.md",
    "code-of-conduct": "CODE_OF_CONDUCT.md",
}
TITLES = {  # of pages that `raremetric study report` writes without a title
    "table2": "Table 2: without resampling",
    "table3-rus": "Table 3b: with random under-sampling",
    "table3-smote": "Table 3a: with SMOTE",
    "imbalance": "Increasing imbalance",
    "ablation": "Ablation under increasing imbalance",
    "cells": "Every cell beside the paper's",
    "beyond": "The paper's data sets",
    "rare-regime-even": "KEEL, even positions: F1",
    "rare-regime-even-precision": "KEEL, even positions: average precision",
    "rare-regime-odd": "KEEL, odd positions: F1",
    "rare-regime-odd-precision": "KEEL, odd positions: average precision",
}
WITH_TITLE = ("results/README", "results/faithfulness")


def read_source(app, page: str, source: list[str]) -> None:
    """Replace the text of a page by a file of the repository, or give it a title."""
    if page in PAGES:
        path = ROOT / PAGES[page]
        app.env.note_dependency(str(path))
        source[0] = site_links(path.read_text("utf-8"))
    elif page.startswith("results/") and page not in WITH_TITLE:
        folder, name = page.split("/")[-2:]
        title = TITLES.get(name, name)
        if folder == "reference":
            title = f"The reference solver: {title[0].lower()}{title[1:]}"
        source[0] = f"# {title}\n\n{source[0]}"


def site_links(text: str) -> str:
    """Make the links of a file in the root of the repository relative to the folder docs."""
    names = {file: f"{page}.md" for page, file in PAGES.items()}
    names["README.md"] = "index.md"

    def relative(match: re.Match) -> str:
        target, fragment = match.group(1), match.group(2) or ""
        if re.match(r"[a-z]+:", target) or not target:
            return match.group(0)
        inside = target.startswith("docs/")
        other = target.removeprefix("docs/") if inside else f"../{target}"
        return f"]({names.get(target, other)}{fragment})"

    return re.sub(r"\]\(([^)#\s]*)(#[^)\s]*)?\)", relative, text)


def copy_files(app, error) -> None:
    """Copy MathJax and the pages that `raremetric study report` writes for the browser."""
    if error is not None or app.builder.format != "html":
        return
    out = Path(app.outdir)
    package = find_spec("sphinx-mathjax-offline")
    shutil.copy(Path(package.origin).parent / "static/mathjax/tex-svg-full.js", out / "_static")
    for path in Path(app.srcdir, "results").rglob("report.html"):
        target = out / path.relative_to(app.srcdir)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)


def setup(app):
    """Called by Sphinx."""
    app.connect("source-read", read_source)
    app.connect("build-finished", copy_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Pages of the site that are files of the repository, and files that are copied to the site."""

from __future__ import annotations

import hashlib
import re
import shutil
from importlib.util import find_spec
from pathlib import Path

from docutils import nodes
from site_config import PAGES, site_links
from sphinx.addnodes import pending_xref
from sphinx.errors import ExtensionError
from sphinx.transforms.post_transforms import SphinxPostTransform

ROOT = Path(__file__).parent.parent.parent
TITLES = {  # of pages that `raremetric study report` writes without a title
    "table2": "Table 2: without resampling",
    "table3-rus": "Table 3b: with random under-sampling",
    "table3-smote": "Table 3a: with SMOTE",
    "imbalance": "Increasing imbalance",
    "ablation": "Ablation under increasing imbalance",
    "rivals": "IML and methods beyond the paper",
    "cells": "Every cell beside the paper's",
    "beyond": "The paper's data sets",
    "beyond-later": "The paper's data sets, splits 6 to 20",
    "rare-regime-even-again": "KEEL, even positions, current version: F1",
    "rare-regime-even-again-precision": "KEEL, even positions, current version: average precision",
    "rare-regime-even-again-intact": "KEEL, without files that lost decimal points: F1",
    "rare-regime-even-again-intact-precision": (
        "KEEL, without files that lost decimal points: average precision"
    ),
    "rare-regime-even": "KEEL, even positions, earlier version: F1",
    "rare-regime-even-precision": "KEEL, even positions, earlier version: average precision",
    "rare-regime-odd": "KEEL, odd positions: F1",
    "rare-regime-odd-precision": "KEEL, odd positions: average precision",
    "large-other": "Other large tables: F1",
    "large-other-precision": "Other large tables: average precision",
    "large-chosen": "Large tables of the choice of settings: F1",
    "large-chosen-precision": "Large tables of the choice of settings: average precision",
    "large-fars": "The largest tables: F1",
    "large-fars-precision": "The largest tables: average precision",
}
# Of es5/tex-svg-full.js in version 3.2.2 of the package mathjax on npm, see decision 8.
MATHJAX_SHA256 = "a4354ff94fd868aea0cc6eaaa79a57fda0588646fc46ee3700a349ee0a11cbe6"
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


class LinkNames(SphinxPostTransform):
    """Make public names in `code` links to their pages, once in each section."""

    default_priority = 5  # before references are resolved

    def run(self, **kwargs) -> None:
        """Replace the literals of a page."""
        page = self.env.docname
        if page.startswith(("generated/", "gallery/", "internals", "whats-new")):
            return
        known = public_names(self.env)
        seen: set[tuple] = set()
        for literal in list(self.document.findall(nodes.literal)):
            name = re.match(r"[A-Za-z_.]+", literal.astext())
            target = known.get(name.group()) if name else None
            section = next(iter_parents(literal, nodes.section), None)
            inside = next(iter_parents(literal, (nodes.reference, pending_xref, nodes.title)), None)
            if target is None or inside is not None or (id(section), target) in seen:
                continue
            seen.add((id(section), target))
            reference = nodes.reference("", "", internal=True)
            uri = self.app.builder.get_relative_uri(page, known.pages[target])
            reference["refuri"] = f"{uri}#{target}"
            literal.replace_self(reference)
            reference += literal


class PublicNames(dict):
    """Full names of public objects by the names that pages use, and their pages."""

    pages: dict[str, str]


def public_names(env) -> PublicNames:
    """The objects that have a page of their own."""
    names = PublicNames()
    names.pages = {}
    for full, entry in env.get_domain("py").objects.items():
        if entry.docname == f"generated/{full}":
            names.pages[full] = entry.docname
            names[full] = names[full.rsplit(".", 1)[1]] = full
    return names


def iter_parents(node, kinds):
    """The ancestors of a node that are of these kinds, the nearest first."""
    while node.parent is not None:
        node = node.parent
        if isinstance(node, kinds):
            yield node


def drop_foreign_versions(app, what, name, obj, options, lines: list[str]) -> None:
    """Remove the versions in which scikit-learn added an inherited method: they would mislead."""
    module = getattr(obj, "__module__", None) or ""
    if module.startswith("sklearn") or name.endswith("_request"):
        lines[:] = [line for line in lines if not line.strip().startswith(".. versionadded")]


def copy_files(app, error) -> None:
    """Copy MathJax and the pages that `raremetric study report` writes for the browser."""
    if error is not None or app.builder.format != "html":
        return
    out = Path(app.outdir)
    package = find_spec("sphinx-mathjax-offline")
    mathjax = Path(package.origin).parent / "static/mathjax/tex-svg-full.js"
    if hashlib.sha256(mathjax.read_bytes()).hexdigest() != MATHJAX_SHA256:
        raise ExtensionError(f"{mathjax} is not the file of MathJax 3.2.2.")
    shutil.copy(mathjax, out / "_static")
    for path in Path(app.srcdir, "results").rglob("report.html"):
        target = out / path.relative_to(app.srcdir)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)


def setup(app):
    """Called by Sphinx."""
    app.add_post_transform(LinkNames)
    app.connect("source-read", read_source)
    app.connect("autodoc-process-docstring", drop_foreign_versions, priority=900)
    app.connect("build-finished", copy_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Pages of the site that are files of the repository, and files that are copied to the site."""

from __future__ import annotations

import hashlib
import re
import shutil
from html import escape
from importlib.util import find_spec
from pathlib import Path

from docutils import nodes
from site_config import PAGES, site_links
from sphinx.addnodes import pending_xref
from sphinx.errors import ExtensionError
from sphinx.transforms.post_transforms import SphinxPostTransform

ROOT = Path(__file__).parent.parent.parent
REPORTED = """## The cells and the figures

<a href="report.html">One page</a> has every cell of Tables 2 and 3 beside the paper's, means, ranks
and figures. [cells.csv](cells.csv) has the cells as a file."""
# Of es5/tex-svg-full.js in version 3.2.2 of the package mathjax on npm, see decision 8.
MATHJAX_SHA256 = "a4354ff94fd868aea0cc6eaaa79a57fda0588646fc46ee3700a349ee0a11cbe6"


def read_source(app, page: str, source: list[str]) -> None:
    """Replace the text of a page by a file of the repository, or change its links."""
    if page in PAGES:
        path = ROOT / PAGES[page]
        app.env.note_dependency(str(path))
        source[0] = site_links(path.read_text("utf-8"))
    elif page == "results/faithfulness":  # what is not part of the site has another place there
        evidence = "../evidence/index.md#how-differences"
        text = source[0].replace("README.md#how-differences", evidence)
        before, cells = text.split("\n## The cells of Tables 2 and 3\n")
        after = cells.split("\n## Departures from the paper\n")[1]
        source[0] = f"{before}\n{REPORTED}\n\n## Departures from the paper\n{after}"


class LinkNames(SphinxPostTransform):
    """Make public names in `code` links to their pages, once in each section."""

    default_priority = 5  # before references are resolved

    def run(self, **kwargs) -> None:
        """Replace the literals of a page."""
        page = self.env.docname
        if page.startswith(("generated/", "gallery/")):
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


def describe_page(app, page, template, context, doctree) -> None:
    """Add the title and the first paragraph of a page for search engines and link previews."""
    if doctree is None:
        return
    first = next((p for p in doctree.findall(nodes.paragraph) if len(p.astext()) > 60), None)
    text = " ".join(first.astext().split()) if first else "Find the rare class in a table."
    text = text if len(text) <= 200 else f"{text[:197].rsplit(' ', 1)[0]} …"
    tags = {
        "og:title": re.sub("<[^>]*>", "", context.get("title", "raremetric")),
        "og:description": text,
        "og:type": "website",
        "og:site_name": "raremetric",
    }
    lines = [f'<meta name="description" content="{escape(text)}">']
    lines += [f'<meta property="{name}" content="{escape(tag)}">' for name, tag in tags.items()]
    context["metatags"] = context.get("metatags", "") + "\n".join(lines)


def copy_files(app, error) -> None:
    """Copy MathJax and the reports of studies, and remove what nobody reads."""
    if error is not None or app.builder.format != "html":
        return
    out = Path(app.outdir)
    package = find_spec("sphinx-mathjax-offline")
    mathjax = Path(package.origin).parent / "static/mathjax/tex-svg-full.js"
    if hashlib.sha256(mathjax.read_bytes()).hexdigest() != MATHJAX_SHA256:
        raise ExtensionError(f"{mathjax} is not the file of MathJax 3.2.2.")
    shutil.copy(mathjax, out / "_static")
    for path in (*out.rglob("*.map"), out / "_static" / "webpack-macros.html"):
        path.unlink()  # of the theme, and of no use in a browser
    for path in Path(app.srcdir, "results").rglob("report.html"):
        target = out / path.relative_to(app.srcdir)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)


def setup(app):
    """Called by Sphinx."""
    app.add_post_transform(LinkNames)
    app.connect("source-read", read_source)
    app.connect("html-page-context", describe_page)
    app.connect("build-finished", copy_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

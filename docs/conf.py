"""Sphinx configuration."""

import raremetric

project = "raremetric"
author = "The raremetric developers"
copyright = "2026, The raremetric developers"
release = raremetric.__version__

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary"]
autosummary_generate = True
numpydoc_show_class_members = False
templates_path = ["_templates"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3  # headings can be linked to, as on GitHub
# Inherited docstrings refer to labels of scikit-learn's documentation.
suppress_warnings = ["ref.ref"]
html_theme = "furo"
html_title = "raremetric"


def add_title(app, page, source):
    """Give a title to the tables of results, which `raremetric study report` writes without one."""
    if page.startswith("results/") and page not in ("results/README", "results/faithfulness"):
        source[0] = f"---\norphan: true\n---\n\n# {page}\n\n{source[0]}"


def setup(app):
    """Called by Sphinx."""
    app.connect("source-read", add_title)

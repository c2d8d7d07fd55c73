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
# The tables of results are linked as files; they are not pages of this documentation.
exclude_patterns = ["_build", "results/[a-z]*.md", "results/*/*.md"]
myst_enable_extensions = ["dollarmath"]
# Inherited docstrings refer to labels of scikit-learn's documentation, and the page of results
# links to tables that are not pages.
suppress_warnings = ["ref.ref", "myst.xref_missing"]
html_theme = "furo"
html_title = "raremetric"

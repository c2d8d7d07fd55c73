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
# Tables are read where they lie.
exclude_patterns = ["_build", "results/[a-z]*.md", "results/beyond/*.md"]
myst_enable_extensions = ["dollarmath"]
# Inherited docstrings refer to labels of scikit-learn's own documentation; the results' page links
# to tables that are not pages of this one.
suppress_warnings = ["ref.ref", "myst.xref_missing"]
html_theme = "furo"
html_title = "raremetric"

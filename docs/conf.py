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
# Inherited docstrings refer to labels of scikit-learn's own documentation.
suppress_warnings = ["ref.ref"]
html_theme = "furo"
html_title = "raremetric"

"""Sphinx configuration. `make docs` builds the site from clean, without using the network."""

import sys
from pathlib import Path

import raremetric

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]

from site_config import hidden_members, read_inventories  # noqa: E402

from docs._ext.site_numbers import substitutions  # noqa: E402

project = "raremetric"
author = "The raremetric developers"
copyright = "2026, The raremetric developers"
release = raremetric.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "site_pages",  # in _ext
]
templates_path = ["_templates"]
exclude_patterns = [
    "_build",
    "inventories",
    "gallery/*.ipynb",
    "gallery/*.py",
    "decisions",
    "experiments",
    "results/[!f]*",  # of the results, only the page faithfulness is part of the site
]
highlight_language = "text"  # of blocks that name no language, which are commands
html_theme = "pydata_sphinx_theme"
html_title = "raremetric"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
html_theme_options = {
    "logo": {
        "text": f"raremetric {release}",
        "image_light": "_static/logo-light.svg",
        "image_dark": "_static/logo-dark.svg",
    },
    "header_links_before_dropdown": 8,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "back_to_top_button": False,
    "pygments_light_style": "default",
    "pygments_dark_style": "github-dark",
}
html_sidebars = {"index": []}
html_show_sphinx = False
html_show_sourcelink = False
html_copy_source = False

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "substitution"]
myst_heading_anchors = 3  # headings can be linked to, as on GitHub
myst_substitutions = substitutions()
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autosummary_generate = True
suppress_warnings = ["config.cache"]  # of the function in the context
autosummary_context = {
    "hidden_members": hidden_members,
    "guides": {  # pages that a class page links to
        "IML": ["guide/metrics", "math/loss", "math/duality"],
        "IMLCV": ["guide/tuning"],
        "LMNN": ["guide/metrics"],
        "ITML": ["guide/metrics", "coming-from"],
        "GMML": ["guide/metrics"],
        "BalancedDiscriminant": ["math/discriminant"],
        "MetricKNNClassifier": ["guide/metrics", "guide/votes", "math/readings"],
        "RareClassifier": ["guide/rare", "contribute/algorithm", "evidence/rare"],
        "KernelLandmarks": ["contribute/algorithm"],
        "ImportanceWeights": ["contribute/algorithm"],
        "BoostedLeaves": ["contribute/algorithm"],
        "TableEncoder": ["table/index"],
        "TableModel": ["table/predict", "guide/deploy"],
        "Comparison": ["table/compare"],
        "DaskClassifier": ["guide/large"],
        "datasets": ["guide/datasets"],
        "explain": ["guide/explaining"],
        "export": ["guide/deploy"],
        "table": ["table/index", "guide/deploy"],
    },
}
autodoc_member_order = "groupwise"
autodoc_typehints = "none"  # the docstrings say more
numpydoc_show_class_members = False  # the contents at the right list them

# A copy of MathJax is part of the site; site_pages copies it.
mathjax_path = "tex-svg-full.js"
mathjax3_config = {"svg": {"fontCache": "global"}}

# The names that are linked to are listed in the folder inventories, so that nothing is downloaded.
intersphinx_mapping = read_inventories(HERE / "inventories", HERE / "generated" / "inventories")

sphinx_gallery_conf = {
    "examples_dirs": ["../examples/gallery"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"plots\.py",
    "within_subsection_order": "site_config.GalleryOrder",
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("raremetric",),
    "reference_url": {"raremetric": None},
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1000,  # in seconds: not shown
    "write_computation_times": False,
    "matplotlib_animations": False,
}

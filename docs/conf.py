"""Sphinx configuration. `make docs` builds the site from clean, without using the network."""

import sys
from pathlib import Path

import raremetric

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

from site_config import read_inventories  # noqa: E402

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
exclude_patterns = ["_build", "inventories", "gallery/*.ipynb", "gallery/*.py"]
html_theme = "furo"
html_title = "raremetric"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_show_sourcelink = False
html_copy_source = False
pygments_style = "default"
pygments_dark_style = "github-dark"  # furo's default underlines names, as if they were links

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3  # headings can be linked to, as on GitHub
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autosummary_generate = True
autosummary_context = {  # pages of the user guide that a class page links to
    "guides": {
        "IML": ["guide/idea", "guide/metrics", "math/loss", "math/duality", "generalization"],
        "IMLCV": ["guide/tuning"],
        "LMNN": ["guide/metrics", "baselines"],
        "ITML": ["guide/metrics", "from-metric-learn", "baselines"],
        "GMML": ["guide/metrics", "baselines"],
        "Euclidean": ["guide/metrics"],
        "BalancedDiscriminant": ["math/discriminant", "rare"],
        "MetricKNNClassifier": [
            "guide/metrics",
            "guide/votes",
            "guide/multiclass",
            "math/readings",
        ],
        "RareClassifier": ["rare", "guide/votes", "math/readings", "beyond"],
        "KernelLandmarks": ["rare"],
        "ImportanceWeights": ["rare"],
        "BoostedLeaves": ["rare"],
        "TableModel": ["table", "guide/saving"],
        "Comparison": ["table", "guide/tuning"],
        "datasets": ["datasets"],
        "explain": ["guide/explaining"],
        "export": ["guide/saving"],
        "table": ["table", "guide/saving"],
    }
}
autodoc_member_order = "groupwise"
autodoc_typehints = "none"  # the docstrings say more
numpydoc_show_class_members = False  # see _templates/autosummary/class.rst

# A copy of MathJax is part of the site; site_pages copies it.
mathjax_path = "tex-svg-full.js"
mathjax3_config = {"svg": {"fontCache": "global"}}

# The names that are linked to are listed in the folder inventories, so that nothing is downloaded.
intersphinx_mapping = read_inventories(HERE / "inventories", HERE / "generated" / "inventories")

sphinx_gallery_conf = {
    "examples_dirs": ["../examples/gallery"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"__init__\.py",
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

"""Settings of the website. `docs/site/build.py` puts the sources together and builds it."""

from __future__ import annotations

import os
import warnings

from cycler import cycler
from matplotlib import rcParams

import pasb
from pasb.plots import style
from pasb.sampling import progress

project = "pasb"
author = "The pasb developers"
copyright = author  # Sphinx reads this name
release = version = pasb.__version__
root_doc = "index"
language = "en"

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["examples_gallery/*", "gallery/*.ipynb", "gallery/*.py"]
nitpicky = False
default_role = "code"  # docstrings write `X` for a name

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
suppress_warnings = ["config.cache"]  # the gallery's settings hold functions

# build.py copies MathJax beside the pages. Its menu would fetch files that are not copied.
mathjax_path = "mathjax/tex-chtml.js"
mathjax3_config = {"options": {"enableMenu": False}}

autodoc_typehints = "none"  # docstrings say what arguments are
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# Inventories are written by build.py from inventories.txt, so nothing is fetched.
_SITES = {
    "numpy": "https://numpy.org/doc/stable/",
    "sklearn": "https://scikit-learn.org/stable/",
    "xarray": "https://docs.xarray.dev/en/stable/",
    "pandas": "https://pandas.pydata.org/docs/",
    "matplotlib": "https://matplotlib.org/stable/",
}
intersphinx_mapping = {
    name: (address, os.path.join(os.path.dirname(__file__), "inventories", f"{name}.inv"))
    for name, address in _SITES.items()
}


def _say_less(gallery_conf: object, name: str) -> None:
    """Pages say what examples find, not how fast this machine is or where its folders are."""
    progress.FIRST_LINE = 1e6
    warnings.formatwarning = lambda message, category, *_: f"{category.__name__}: {message}\n"


def _one_look(gallery_conf: object, name: str) -> None:
    """Pictures that an example draws itself look like those of pasb.plots."""
    rcParams.update(
        {
            "axes.prop_cycle": cycler(color=style.COLOURS),
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlelocation": "left",
            "axes.edgecolor": style.SOFT,
            "axes.labelsize": style.LABEL,
            "axes.titlesize": style.LABEL,
            "legend.frameon": False,
            "xtick.labelsize": style.SMALL,
            "ytick.labelsize": style.SMALL,
        }
    )


sphinx_gallery_conf = {
    "reset_modules": ("matplotlib", _say_less, _one_look),
    "examples_dirs": "examples_gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 1000,
    "write_computation_times": False,
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "matplotlib_animations": False,
    "capture_repr": ("_repr_html_", "__repr__"),
    "ignore_repr_types": r"matplotlib|list|Axes|Picture|pasb\.plots",
    "plot_gallery": os.environ.get("PASB_GALLERY", "True"),
    "default_thumb_file": None,
}

html_theme = "pydata_sphinx_theme"
html_title = "pasb"
html_theme_options = {
    "show_prev_next": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "install": [], "first_fit": [], "who_should_not": []}
html_show_sourcelink = False
html_context = {"default_mode": "auto"}
html_static_path = ["static"]
html_css_files = ["pages.css"]
toc_object_entries_show_parents = "hide"

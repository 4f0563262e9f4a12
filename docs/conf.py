"""Configuration of the documentation."""

import sys
from pathlib import Path

import skneighbors
from skneighbors._settings import TABLE, TABLE_SOFTSTEP_KNN

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "skneighbors"
copyright = "2026, The skneighbors developers"
author = "The skneighbors developers"
version = release = skneighbors.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "myst_parser",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "api_pages",
    "mathml",
    "page_heads",
    "run_versions",
]
exclude_patterns = ["_build", "examples", "_inventories"]
templates_path = ["_templates"]
nitpicky = True
# In docstrings inherited from scikit-learn; its inventory here knows no such names.
nitpick_ignore = [
    ("py:class", "sklearn.utils.metadata_routing.MetadataRequest"),
    ("std:ref", "df_output_transform"),
    ("std:ref", "metadata_routing"),
]

smartquotes = False  # quotes in types are Python's

html_theme = "pydata_sphinx_theme"
html_title = "skneighbors"
html_context = {"tagline": skneighbors.__doc__.rstrip(".")}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_search_scorer = str(Path(__file__).parent / "_static" / "scorer.js")
html_math_renderer = "mathml"
html_domain_indices = False
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"**": ["sidebar-nav-bs"]}
html_logo = html_favicon = "_static/logo.svg"
html_theme_options = {
    "logo": {"text": f"skneighbors {version}"},
    "navbar_align": "left",
    "show_prev_next": False,
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}

copybutton_exclude = ".linenos, .gp, .go"  # prompts and output

autosummary_generate = True
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
add_module_names = False
numpydoc_show_class_members = False  # api_pages lists them
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"  # but for what is named here, and numpydoc's names
numpydoc_xref_aliases = {
    "Tensor": "torch.Tensor",
    "nn.Module": "torch.nn.Module",
    "callable": ":func:`callable <python:callable>`",
    "array-like": ":term:`sklearn:array-like`",
    "Explanation": "skneighbors.inspection.Explanation",
    "NONARegressor": "skneighbors.NONARegressor",
    "Recipe": "skneighbors.Recipe",
    "SoftStepKNNRegressor": "skneighbors.SoftStepKNNRegressor",
    "Suspects": "skneighbors.inspection.Suspects",
}

# Inventories of others' documentation lie in the repository, so that no build needs a network.
intersphinx_mapping = {
    name: (url, str(HERE / "_inventories" / f"{name}.inv"))
    for name, url in {
        "numpy": "https://numpy.org/doc/stable/",
        "pandas": "https://pandas.pydata.org/docs/",
        "python": "https://docs.python.org/3/",
        "scipy": "https://docs.scipy.org/doc/scipy/",
        "sklearn": "https://scikit-learn.org/stable/",
        "torch": "https://docs.pytorch.org/docs/stable/",
    }.items()
}

# The user guide's table of what every "auto" becomes.
ROWS = {
    "from so many unique rows on": lambda start, line: f"{start:,}",
    '"auto" becomes': lambda start, line: "; ".join(
        f"``{name}={value!r}``" for name, value in sorted(line.items())
    ),
}


def write_recipe_table(app):
    """Write the tables of the recipe for the user guide to include."""
    folder = Path(app.srcdir) / "generated"
    folder.mkdir(exist_ok=True)
    for name, table in (("nona", TABLE), ("softstep_knn", TABLE_SOFTSTEP_KNN)):
        lines = [".. list-table::", "    :header-rows: 1", "    :widths: 15 85", ""]
        for cells in [
            list(ROWS),
            *([row(*entry) for row in ROWS.values()] for entry in table.items()),
        ]:
            lines += [f"    * - {cells[0]}", f"      - {cells[1]}"]
        (folder / f"recipe_{name}.inc").write_text("\n".join(lines) + "\n", encoding="utf-8")


def setup(app):
    app.connect("builder-inited", write_recipe_table)


EXAMPLES = [
    "plot_first_fit.py",
    "plot_explain.py",
    "plot_intervals.py",
    "plot_novelty.py",
    "plot_suspects.py",
    "plot_search.py",
    "plot_images.py",
    "plot_append_forget.py",
    "plot_digits.py",
]

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"plot_",
    "within_subsection_order": EXAMPLES.index,
    "abort_on_example_error": True,
    "show_signature": False,
    "write_computation_times": False,
}

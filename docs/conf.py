"""Configuration of the documentation."""

from pathlib import Path

import skneighbors
from skneighbors._recipe import TABLE, TABLE_SOFTSTEP_KNN

project = "skneighbors"
copyright = "2026, The skneighbors developers"
author = "The skneighbors developers"
version = release = skneighbors.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "examples"]
html_theme = "pydata_sphinx_theme"
html_title = "skneighbors"
html_theme_options = {"show_prev_next": False}
html_sidebars = {"index": []}

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = True
numpydoc_class_members_toctree = False
# Members of torch's and scikit-learn's base classes are documented there.
numpydoc_show_inherited_class_members = {
    "skneighbors.NONARegressor": True,
    "skneighbors.SoftStepKNNRegressor": True,
    **{
        f"skneighbors.nn.{name}": False
        for name in (
            "CategoricalEmbedding",
            "MLPEmbedder",
            "NONA",
            "PeriodicEmbedding",
            "SoftStep",
            "SoftStepKNN",
            "WeightedBatchNorm",
        )
    },
}

# The user guide's table of what every "auto" becomes.
ROWS = {
    "from so many distinct samples on": lambda start, line: f"{start:,}",
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
        for cells in [list(ROWS), *([row(*entry) for row in ROWS.values()] for entry in table)]:
            lines += [f"    * - {cells[0]}", f"      - {cells[1]}"]
        (folder / f"recipe_{name}.inc").write_text("\n".join(lines) + "\n", encoding="utf-8")


def setup(app):
    app.connect("builder-inited", write_recipe_table)


EXAMPLES = [
    "plot_first_fit.py",
    "plot_explain.py",
    "plot_intervals.py",
    "plot_novelty.py",
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
}

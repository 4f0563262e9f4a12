"""Configuration of the documentation."""

import skneighbors

project = "skneighbors"
copyright = "2026, The skneighbors developers"
author = "The skneighbors developers"
version = release = skneighbors.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
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
            "MLPEmbedder",
            "NONA",
            "PeriodicEmbedding",
            "SoftStep",
            "SoftStepKNN",
            "WeightedBatchNorm",
        )
    },
}

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"plot_",
    "abort_on_example_error": True,
    "show_signature": False,
}

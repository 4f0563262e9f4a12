"""Pages of classes: parameters in groups, and a table of the public methods."""

from sphinx.errors import ExtensionError

import skneighbors

# The estimators' parameters, in the order and under the headings of their pages.
GROUPS = {
    "Try first": [
        "n_neighbors",
        "n_estimators",
        "hidden_layer_sizes",
        "trend",
        "blend",
        "max_iter",
        "max_time",
        "categorical_features",
        "random_state",
    ],
    "Network": [
        "similarity",
        "softstep",
        "softstep_parameters",
        "rank",
        "feature_extractor",
    ],
    "Training": [
        "batch_size",
        "learning_rate_init",
        "weight_decay",
        "early_stopping",
        "validation_fraction",
        "recipe",
        "n_jobs",
        "device",
        "verbose",
    ],
    "Prediction": ["algorithm"],
}
ESTIMATORS = [skneighbors.NONARegressor, skneighbors.SoftStepKNNRegressor]
# What classes have from these packages is shown, what they have from torch is not.
SHOWN = {"skneighbors", "sklearn"}


def public_members(cls):
    """Names of the public methods and properties of a class, those of torch excepted."""
    names = set()
    for base in cls.__mro__:
        if base.__module__.partition(".")[0] in SHOWN:
            names |= {name for name in vars(base) if not name.startswith("_")}
    return sorted(name for name in names if _is_member(getattr(cls, name)))


def _is_member(value):
    return callable(value) or isinstance(value, property)


def check_groups(app):
    """Fail unless every parameter of the estimators has one group, and the groups no others."""
    grouped = [name for names in GROUPS.values() for name in names]
    parameters = {name for cls in ESTIMATORS for name in cls().get_params(deep=False)}
    if sorted(grouped) != sorted(parameters):
        wrong = sorted(parameters.symmetric_difference(grouped)) or "one that stands there twice"
        raise ExtensionError(f"GROUPS in docs/_ext/api_pages.py disagrees on parameters: {wrong}")


def edit_class(app, what, name, obj, options, lines):
    """Group the parameters in a class's docstring, and end it with a table of its methods."""
    if what != "class":
        return
    if obj in ESTIMATORS:
        lines[:] = _group_parameters(lines)
    members = public_members(obj)
    if members:
        lines += ["", ".. rubric:: Methods", "", ".. autosummary::", "    :nosignatures:", ""]
        lines += [f"    ~{obj.__name__}.{member}" for member in members] + [""]


def _group_parameters(lines):
    """Bring the items below numpydoc's ":Parameters:" into groups with headings."""
    start = lines.index(":Parameters:") + 1
    stop = next(i for i in range(start, len(lines)) if lines[i][:1] not in ("", " "))
    items = {}
    for line in lines[start:stop]:
        if line.startswith("    **"):
            item = items.setdefault(line.split("**")[1], [])
        if line.strip() or items:
            item.append(line)
    grouped = [""]
    for group, names in GROUPS.items():
        grouped += [f"    .. rubric:: {group}", "        :class: parameter-group", ""]
        grouped += [line for name in names for line in items.pop(name, [])]
    if items:
        raise ExtensionError(f"parameters in no group of docs/_ext/api_pages.py: {sorted(items)}")
    return lines[:start] + grouped + lines[stop:]


def setup(app):
    """Connect to Sphinx."""
    app.connect("builder-inited", check_groups)
    app.connect("autodoc-process-docstring", edit_class, priority=600)  # after numpydoc
    return {"parallel_read_safe": True, "parallel_write_safe": True}

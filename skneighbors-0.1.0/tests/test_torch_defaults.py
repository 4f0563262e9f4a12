"""Torch's default device and dtype, which are the caller's, change no estimator."""

import ast
import inspect
import pickle
import re
from contextlib import contextmanager
from pathlib import Path

import asked
import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal

import skneighbors
from skneighbors import Recipe, load
from skneighbors.nn import NONA, MLPEmbedder, SoftStepKNN

pd = pytest.importorskip("pandas")

SMALL = dict(max_iter=3, hidden_layer_sizes=8, random_state=0)
VARIANTS = {
    "defaults": {},
    "batches": dict(batch_size=16, recipe=Recipe(context_size=24, context_neighbors=2)),
    "dropout, unlike networks": dict(recipe=Recipe(dropout=0.1), early_stopping=True),
    "nothing held out": dict(early_stopping=False, blend=None, n_estimators=1, trend=None),
}
DEFAULTS = {
    "meta, double": ("meta", torch.float64),
    "a GPU that may be missing, half": ("cuda", torch.float16),
}


@contextmanager
def defaults(device, dtype):
    before = torch.get_default_dtype()
    try:
        torch.set_default_device(device)
        torch.set_default_dtype(dtype)
        yield
    finally:
        torch.set_default_device(None)
        torch.set_default_dtype(before)


@pytest.fixture(scope="module")
def rows():
    """A table with a category and its targets."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(160, 3)), columns=list("abc"))
    table["kind"] = np.where(table["a"] > 0, "up", "down")
    return table, (table["a"] * table["b"] + (table["kind"] == "up")).to_numpy()


def network_outputs(model, X):
    # What `prepare` returns follows nothing; what torch makes here would.
    return [part.detach().numpy() for part in model.network_(model.prepare(X))]


def reloaded(model, path, X):
    model.save(path)
    return load(path).predict(X)


# What is asked by each public method; changes come last.
QUESTIONS = asked.QUESTIONS | {
    "score": lambda m, X: [m.score(X, m.predict(X) + 1)],
    "explain": lambda m, X: [
        m.explain(X).adjustments,
        m.explain(X[:3], by_column=True).by_column.differences,
    ],
    "prepare": lambda m, X: [m.prepare(X).numpy()],
    "network_": network_outputs,
    "append": lambda m, X: [m.append(X, m.predict(X)).predict_quantiles(X)],
    "forget": lambda m, X: [m.forget(range(20)).predict_interval(X, 0.8)],
}
# They touch no tensor.
OTHERS = {
    *("fit", "fit_transform", "save", "get_params", "set_params", "get_metadata_routing"),
    *("get_feature_names_out", "set_output", "set_fit_request", "set_predict_request"),
    *("set_score_request", "blend_"),
}


def test_every_public_method_is_asked_here(estimator_class):
    public = {name for name, _ in inspect.getmembers(estimator_class) if name[0] != "_"}
    assert public - {*estimator_class().get_params()} == {*QUESTIONS, *OTHERS}


def answers(estimator, rows, path):
    X, y = rows
    estimator.fit(X[:120], y[:120], groups=np.arange(120) // 2)
    found = {
        "pickle": [pickle.loads(pickle.dumps(estimator)).predict(X)],
        "load": [reloaded(estimator, path, X)],
    }
    return found | {name: ask(estimator, X[100:]) for name, ask in QUESTIONS.items()}


@pytest.mark.filterwarnings("ignore:There are no validation rows")
@pytest.mark.parametrize("variant", VARIANTS)
def test_defaults_of_torch_change_no_bit(estimator_class, rows, variant, tmp_path):
    path = tmp_path / "model.skops"

    def found():
        return answers(estimator_class(**SMALL, **VARIANTS[variant]), rows, path)

    expected = found()
    for own in DEFAULTS.values():
        with defaults(*own):
            changed = found()
            assert torch.get_default_dtype() == own[1]
        for name, parts in expected.items():
            for part, same in zip(parts, changed[name], strict=True):
                assert_array_equal(same, part, err_msg=f"{name} with {own}")


@pytest.mark.parametrize("params", [{}, dict(feature_extractor=lambda: torch.nn.Linear(3, 4))])
def test_neither_do_a_context_and_threads_of_the_pool(estimator_class, rows, thread_count, params):
    X, y = rows
    X = X[list("abc")].to_numpy() if params else X
    expected = estimator_class(**SMALL, **params).fit(X, y).predict(X)
    thread_count(3)
    for own in DEFAULTS.values():
        with defaults(*own):
            assert_array_equal(estimator_class(**SMALL, **params).fit(X, y).predict(X), expected)
    with torch.device("meta"):
        assert_array_equal(estimator_class(**SMALL, **params).fit(X, y).predict(X), expected)
        assert torch.empty(1).is_meta


@pytest.mark.parametrize(
    "make",
    [
        lambda: NONA(4, trend="linear", temperature=0.5, softstep_parameters="global"),
        lambda: SoftStepKNN(4),
        lambda: MLPEmbedder(
            2, (8, 8, 8), n_plain=1, n_categories=[3, 4], batch_norm=True, dropout=0.1
        ),
    ],
)
def test_blocks_follow_them_as_torchs_own_do(make):
    for device, dtype in [("meta", torch.float32), ("cpu", torch.float64)]:
        with defaults(device, dtype):
            block = make()
        for tensor in [*block.parameters(), *block.buffers()]:
            assert tensor.device.type == device
            assert tensor.dtype in (dtype, torch.int64)


# Torch makes these on the default device unless told otherwise.
MAKERS = re.compile(
    r"torch\.(empty|zeros|ones|full|tensor|as_tensor|asarray|scalar_tensor|arange|range|linspace|"
    r"logspace|eye|rand|randn|randint|randperm|tril_indices|triu_indices|sparse_\w+_tensor)"
)


def test_nothing_but_blocks_makes_tensors_on_the_default_device():
    root = Path(skneighbors.__file__).parent
    for path in root.rglob("*.py"):
        if path.parent == root / "nn":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and MAKERS.fullmatch(ast.unparse(node.func)):
                is_told = any(keyword.arg == "device" for keyword in node.keywords)
                assert is_told, f"{path.relative_to(root)}, line {node.lineno}"

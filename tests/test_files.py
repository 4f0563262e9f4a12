"""Files of fitted estimators: what is written comes back, and nothing else does."""

import contextlib
import hashlib
import io
import json
import os
import pickle
import re
import struct
import zipfile
from functools import cache
from pathlib import Path

import asked
import numpy as np
import pandas as pd
import pytest
import skops.io
import torch
from numpy.testing import assert_allclose, assert_array_equal
from safetensors import safe_open
from safetensors.numpy import save_file
from sklearn.exceptions import NotFittedError

import skneighbors
from skneighbors import PAPER, ModelFileError, NONARegressor, load
from skneighbors._archive import models

# Few rows have weight; what intervals warn of then has tests of its own.
pytestmark = pytest.mark.filterwarnings("ignore:There are no validation rows")

# How many changed files are tried; more once, by hand.
N_CHANGED = int(os.environ.get("SKNEIGHBORS_N_CHANGED_FILES", "120"))
HERE = Path(__file__).parent / "data"
SMALL = dict(
    hidden_layer_sizes=(8,),
    max_iter=3,
    n_estimators=2,
    n_neighbors=9,
    blend=None,
    random_state=0,
)
N = 140


def make_table(seed=0):
    rng = np.random.RandomState(seed)
    X = pd.DataFrame(
        {
            "size": rng.normal(size=N),
            "town": pd.Series(rng.choice(["x", "y", None], N), dtype=object),
            "street": rng.choice([f"s{i}" for i in range(30)], N),
            "sold": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.randint(0, 900, N), "D"),
            "new": rng.rand(N) < 0.5,
            "nothing": np.nan,
        },
        index=[f"house {i}" for i in range(N)],
    )
    X.loc[X.index[::7], "size"] = np.nan
    # A line, and a step that trees learn.
    y = 100 * X["size"].fillna(0) + 100 * (X["size"] > 0.5) + 5 * X["new"]
    return X, y + rng.normal(size=N)


def make_numbers(n_targets):
    rng = np.random.RandomState(1)
    X = rng.normal(size=(N, 3))
    y = X[:, [0]] * np.arange(1, n_targets + 1) + rng.normal(size=(N, n_targets))
    return X, y[:, 0] if n_targets == 1 else y


X_NUMBERS, _ = make_numbers(1)
WEIGHT = np.random.RandomState(2).randint(0, 3, N).astype(float)
CASES = {
    "numbers": ({}, lambda: make_numbers(1), {}),
    "two targets, weights": ({}, lambda: make_numbers(2), {"sample_weight": WEIGHT}),
    "table": (
        {"blend": "auto", "recipe": skneighbors.Recipe(boosting_iter=10)},
        make_table,
        {},
    ),
    "lines, two targets": ({"blend": "linear"}, lambda: make_numbers(2), {}),
    "groups": ({}, lambda: make_numbers(1), {"groups": np.arange(N) // 5}),
    "validation": (
        {},
        lambda: make_numbers(1),
        {"X_val": X_NUMBERS[:20] + 0.1, "y_val": X_NUMBERS[:20, 0]},
    ),
    "recipe": (
        {
            "recipe": skneighbors.Recipe(temperature="calibrated"),
            "n_neighbors": None,
            "trend": None,
        },
        lambda: make_numbers(1),
        {},
    ),
    "likeness": ({"recipe": skneighbors.Recipe(likeness=2.0)}, lambda: make_numbers(1), {}),
    "paper": (PAPER | dict(max_iter=2), lambda: make_numbers(1), {}),
}


@cache
def fit(estimator_class, case):
    params, data, given = CASES[case]
    X, y = data()
    return estimator_class(**SMALL | params).fit(X, y, **given)


def queries(case):
    X = CASES[case][1]()[0]
    return X.iloc[:12] if case == "table" else X[:12] + 0.05


def answers(model, X):
    return [*asked.answers(model, X), model.explain(X).labels, model.suspects(5).labels]


def assert_same(model, other, X):
    for own, expected in zip(answers(other, X), answers(model, X), strict=True):
        assert_array_equal(own, expected)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("changed", [False, True], ids=["as fitted", "changed"])
def test_what_is_saved_is_loaded(estimator_class, case, changed, tmp_path):
    model, X = fit(estimator_class, case), queries(case)
    if changed:
        y = CASES[case][1]()[1]
        model = pickle.loads(pickle.dumps(model))
        model.append(X[:3], np.asarray(y)[:3]).forget([0, 5])
    assert model.save(tmp_path / "model") is None
    again = load(tmp_path / "model")
    assert type(again) is estimator_class
    assert_same(model, again, X)
    own, other = model.get_params(), again.get_params()
    assert [own[name] for name in own if name != "recipe"] == [
        other[name] for name in own if name != "recipe"
    ]
    plans = model.plan_, again.plan_
    assert plans[0].recipe.get_params() == plans[1].recipe.get_params()
    assert plans[0].max_iter == plans[1].max_iter
    for name, value in vars(model).items():
        if name.endswith("_") and name not in ("plan_", "blend_"):
            assert_array_equal(getattr(again, name), value)
    again.append(X[:3], np.asarray(CASES[case][1]()[1])[:3])
    again.save(tmp_path / "once more")
    assert_same(again, load(tmp_path / "once more", device="cpu"), X)


def test_the_output_that_was_set_comes_back(estimator_class, tmp_path):
    model, X = fit(estimator_class, "table"), queries("table")
    model = pickle.loads(pickle.dumps(model)).set_output(transform="pandas")
    model.save(tmp_path / "model")
    pd.testing.assert_frame_equal(load(tmp_path / "model").transform(X), model.transform(X))


def test_only_the_fitted_are_saved(estimator_class, tmp_path):
    with pytest.raises(NotFittedError):
        estimator_class().save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_missing_is_named_before_any_work(tmp_path, monkeypatch):
    model, folder = fit(NONARegressor, "numbers"), tmp_path / "missing"
    monkeypatch.setattr(models, "pack_model", None)
    with pytest.raises(FileNotFoundError, match=re.escape(f"There is no folder {folder} to save")):
        model.save(folder / "model")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match=re.escape(f"There is no folder {folder} to save")):
        model.save("missing/model")
    with pytest.raises(IsADirectoryError, match=re.escape(f"{tmp_path} is a folder; name a file")):
        model.save(tmp_path)
    assert not list(tmp_path.iterdir())


def test_pickles_hold_numpy(estimator_class):
    state = fit(estimator_class, "table").__getstate__()
    assert set(state["_model"]) == {"tree", "arrays", "objects"}
    assert all(type(array) is np.ndarray for array in state["_model"]["arrays"].values())
    assert not any(isinstance(v, torch.Tensor) for v in state.values())


def test_a_file_of_this_format():
    """Written by ``tests/data/write_model.py``, to be run again with each new format."""
    model = load(HERE / "model.safetensors")
    expected = json.loads((HERE / "model.json").read_text())
    X, _ = make_table()
    assert_allclose(model.predict(X.iloc[:10]), expected["predict"], rtol=1e-7)
    assert model.explain(X.iloc[:1]).labels[0].tolist() == expected["labels"]


def read(path):
    """Parts of a file: the header and its checksum, and the tensors."""
    with safe_open(path, framework="np") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return file.metadata() | {"sha256": arrays.pop("sha256").tobytes().hex()}, arrays


def checksum(text, arrays):
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name}|{array.dtype.str}|{array.shape}|".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def write(path, text, arrays, digest=None):
    """Write a file whose checksum is right, unless another is given."""
    digest = digest or checksum(text, arrays)
    digest = np.frombuffer(bytes.fromhex(digest), dtype=np.uint8)
    save_file(arrays | {"sha256": digest}, path, metadata={"skneighbors": text})


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("good") / "model"
    fit(NONARegressor, "table").save(path)
    return path


def test_the_checksum_is_that_of_the_header_and_all_tensors(good, tmp_path):
    metadata, arrays = read(good)
    assert metadata["sha256"] == checksum(metadata["skneighbors"], arrays)
    write(tmp_path / "twin", metadata["skneighbors"], arrays)
    assert_same(fit(NONARegressor, "table"), load(tmp_path / "twin"), queries("table"))


def test_files_of_others(tmp_path):
    path = tmp_path / "file"
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", bytes(2**24))
    tensors = io.BytesIO()
    torch.save({"a": torch.ones(3)}, tensors)
    nested = b'{"a":' * 4000 + b"1" + b"}" * 4000
    contents = [
        b"",
        b"1234567",
        pickle.dumps(print),
        bomb.getvalue(),
        tensors.getvalue(),
        struct.pack("<Q", 2**63) + bytes(100),
        struct.pack("<Q", len(nested)) + nested,
    ]
    for content in contents:
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match="file"):
            load(path)
    save_file({"a": np.ones(3)}, path)
    with pytest.raises(ModelFileError, match="holds tensors, but no model of skneighbors"):
        load(path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none")


def attributes_of(tree):
    return tree["content"]["attributes"]["dict"]


def settings_of(tree):
    return attributes_of(tree)["plan_"]["fields"]["settings"]["fields"]


def params_of(tree):
    return tree["content"]["params"]["dict"]


def model_of(tree):
    return tree["content"]["model"]["fields"]


def blend_of(tree):
    return model_of(tree)["blended_model"]["fields"]


def rename(tree, old, new):
    """Let one part of a tree stand in another's place."""
    tree[old], tree[new] = None, tree[old]


def refuses(good, folder, change, message):
    """A file whose header was changed is refused, and with the checksum that it had as well."""
    metadata, arrays = read(good)
    tree = json.loads(metadata["skneighbors"])
    change(tree)
    for digest, why in ((None, message), (metadata["sha256"], "checksum differs|'format'")):
        write(folder / "edited", json.dumps(tree), arrays, digest)
        with pytest.raises(ModelFileError, match=why):
            load(folder / "edited")


WIDE = {"hidden_layer_sizes": {"tuple": [10**9]}}
EDITS = {
    "no format": (lambda tree: tree.pop("format"), "The header of"),
    "estimator": (lambda tree: tree["content"].update(estimator="Ridge"), "Ridge"),
    "tag": (lambda tree: params_of(tree).update(device={"run": "x"}), "x"),
    "type": (lambda tree: tree["content"]["model"].update(type="os.Popen"), "os.Popen"),
    "field": (
        lambda tree: model_of(tree).pop("blended_model"),
        "Model has other fields: .*blended_model",
    ),
    "parameter": (lambda tree: params_of(tree).update(batch_size=-1), "batch_size"),
    "weight": (
        lambda tree: model_of(tree)["bank"]["fields"].update(blend_weight=7.0),
        "weight of the blended model",
    ),
    "validation": (
        lambda tree: rename(model_of(tree)["validation"]["fields"], "residuals", "weight"),
        "validation lacks some of its parts",
    ),
    "no neighbors": (
        lambda tree: model_of(tree)["validation"]["fields"].update(n_neighbors=0),
        "validation.n_neighbors is 0",
    ),
    "weights of parts": (
        lambda tree: blend_of(tree)["weights"]["dict"].update(linear=0.9),
        "weights of the blended model are out of range",
    ),
    "a part without weight": (
        lambda tree: blend_of(tree)["weights"].update(dict={"boosting": 1.0}),
        "blended model has other parts",
    ),
    "a part of classes": (
        lambda tree: blend_of(tree)["parts"]["dict"]["linear"].update(type="LogisticModel"),
        "linear model is of another kind",
    ),
    "widths": (
        lambda tree: settings_of(tree)["params"]["dict"].update(WIDE),
        "embedder.layers.0.linear.weight has shape",
    ),
}


@pytest.mark.parametrize("edit", EDITS)
def test_headers_that_were_edited(good, tmp_path, edit):
    refuses(good, tmp_path, *EDITS[edit])


PARTS = "model.blended_model.parts"
TREES, CODES = (f"{PARTS}.boosting.bags.0.0.{part}" for part in ("trees", "encoder"))
LINE, FEATURES = f"{PARTS}.linear", f"{PARTS}.linear.features"
# The tensor, what is made of it, and what the message says.
TENSORS = {
    "model.bank.rows.targets": (lambda a: a[:-1], "targets"),
    "model.bank.rows.z": (lambda a: np.where(a == a.max(), np.nan, a), "z holds NaN"),
    "model.bank.rows.group": (lambda a: a * 0 + 2**29, "group holds values that are too large"),
    "model.numbering.row_of": (lambda a: a - 10**6, "row_of holds values below"),
    "model.validation.rows": (lambda a: a + 10**6, "rows"),
    "model.encoder.numbers": (lambda a: a * 0 + 1, "names a column twice"),
    "model.encoder.coded": (lambda a: a + 100, "coded"),
    f"{TREES}.value": (lambda a: a * np.nan, "value"),
    f"{TREES}.feature": (lambda a: a + 100, "feature"),
    f"{TREES}.right_leaves": (lambda a: ~a, "right_leaves lead nowhere"),
    f"{TREES}.category_split": (lambda a: a + 10**6, "category_split"),
    f"{CODES}.codes": (lambda a: a + 300, "encoder"),
    f"{CODES}.n_categories": (lambda a: a + 1, "encoder"),
    f"{LINE}.coef": (lambda a: a[:, :-1], "linear model does not fit"),
    f"{LINE}.intercept": (lambda a: a * np.inf, "linear.intercept holds NaN or infinity"),
    f"{FEATURES}.n_categories": (lambda a: a[::-1], "linear model does not fit"),
    f"{FEATURES}.low": (lambda a: a[:-1], r"features\.low has shape"),
    f"{FEATURES}.mean": (lambda a: a * np.nan, r"features\.mean holds NaN"),
    f"{FEATURES}.scale": (lambda a: -a, r"features\.scale holds values below 0"),
    f"{FEATURES}.flagged": (lambda a: a + 100, r"features\.flagged holds values that are too"),
    f"{FEATURES}.categories": (lambda a: a + 10**6, r"features\.categories holds values that"),
    "model.matrix": (lambda a: a.astype(np.float32), "matrix"),
    "network.embedder.layers.0.linear.weight": (lambda a: a[:, :, :-1], "weight"),
    "network.embedder.layers.1.weight": (lambda a: a * np.nan, "not finite"),
}


@pytest.mark.parametrize("name", TENSORS)
def test_tensors_that_were_edited(good, tmp_path, name):
    (change, message), (metadata, arrays) = TENSORS[name], read(good)
    edited = arrays | {name: np.ascontiguousarray(change(arrays[name]))}
    write(tmp_path / "edited", metadata["skneighbors"], edited)
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "edited")


def test_validation_rows_that_are_of_no_row(good, tmp_path):
    metadata, arrays = read(good)
    rows = {"model.validation.rows": arrays["model.validation.rows"] * 0 - 1}
    write(tmp_path / "edited", metadata["skneighbors"], arrays | rows)
    with pytest.raises(ModelFileError, match=r"validation\.rows holds values below 0"):
        load(tmp_path / "edited")


def test_tensors_of_another_kind_missing_or_more(good, tmp_path):
    metadata, arrays = read(good)
    text = metadata["skneighbors"]
    as_tensor = text.replace(f'{{"array":"{TREES}.feature"}}', f'{{"tensor":"{TREES}.feature"}}')
    assert as_tensor != text
    missing = {name: array for name, array in arrays.items() if name != "model.bank.rows.z"}
    for header, edited, message in (
        (as_tensor, arrays, "no array"),
        (text, missing, r"model\.bank\.rows\.z"),
        (text, arrays | {"more": np.ones(2)}, "more"),
    ):
        write(tmp_path / "edited", header, edited)
        with pytest.raises(ModelFileError, match=message):
            load(tmp_path / "edited")


def loads_or_refuses(path, expected, X):
    """Whether a file is refused; if not, it must predict the same."""
    try:
        model = load(path)
    except ModelFileError:
        return True
    assert_array_equal(model.predict(X), expected)
    return False


def test_changed_files_are_refused(good, tmp_path):
    rng, content = np.random.default_rng(0), good.read_bytes()
    X, path = queries("table"), tmp_path / "changed"
    expected, n_refused = load(good).predict(X), 0
    length = struct.unpack("<Q", content[:8])[0]
    for i in range(N_CHANGED):
        changed = bytearray(content)
        if i % 4 == 0:
            changed = changed[: rng.integers(len(content))]
        elif i % 4 == 1:
            start, stop = np.sort(rng.integers(len(content), size=2))
            changed[start:stop] = bytes(rng.permutation(np.frombuffer(changed[start:stop], "u1")))
        else:  # bits, those of the header as often as those of the tensors
            end = 8 + length if i % 4 == 2 else len(content)
            for place in rng.integers(end, size=rng.integers(1, 4)):
                changed[place] ^= 1 << rng.integers(8)
        path.write_bytes(changed)
        n_refused += loads_or_refuses(path, expected, X)
    assert n_refused >= 0.99 * N_CHANGED


def edit_at_random(node, rng):
    """Change one value of a tree of JSON, in place."""
    while True:
        keys = list(node) if isinstance(node, dict) else range(len(node))
        if not len(keys):
            return
        key = keys[rng.integers(len(keys))]
        if not isinstance(node[key], dict | list) or rng.random() < 0.1:
            values = [None, True, -1, 0, 3, 2**70, 1e308, float("nan"), "", "auto", [], {}]
            node[key] = values[rng.integers(len(values))]
            return
        node = node[key]


def test_edited_files_with_a_right_checksum_do_no_harm(good, tmp_path):
    """They load or are refused; what they then predict is whatever they say, or an error."""
    rng, (metadata, arrays) = np.random.default_rng(1), read(good)
    X, path, names = queries("table"), tmp_path / "edited", sorted(arrays)
    for i in range(N_CHANGED // 5):
        tree, edited = json.loads(metadata["skneighbors"]), dict(arrays)
        if i % 2:
            edit_at_random(tree, rng)
        else:
            name = names[rng.integers(len(names))]
            array = edited[name].copy()
            if array.size:
                flat = array.reshape(-1)
                values = [-1, 0, 1, 2**31, np.nan if array.dtype.kind == "f" else 3]
                with np.errstate(invalid="ignore"):
                    flat[rng.integers(flat.size)] = np.array(values[rng.integers(5)]).astype(
                        array.dtype
                    )
            edited[name] = array
        write(path, json.dumps(tree), edited)
        try:
            model = load(path)
        except ModelFileError:
            continue
        harmless = ValueError, TypeError, IndexError, RuntimeError, ArithmeticError
        with np.errstate(all="ignore"), contextlib.suppress(*harmless):
            model.predict(X)


def test_skops_with_our_types_trusted(estimator_class):
    model = fit(estimator_class, "table")
    dumped = skops.io.dumps(model)
    trusted = skops.io.get_untrusted_types(data=dumped)
    # What is not ours is a part of scikit-learn's boosted trees.
    others = {"functools.partial", "sklearn.utils.validation.check_array"}
    others |= {"sklearn.compose._column_transformer._RemainderColsList"}
    ours = "skneighbors.", "sklearn.ensemble._hist_gradient_boosting."
    assert all(own in others or own.startswith(ours) for own in trusted)
    assert_same(model, skops.io.loads(dumped, trusted=trusted), queries("table"))


def test_parameters_set_since_do_not_change_what_is_fitted(estimator_class, tmp_path):
    model = pickle.loads(pickle.dumps(fit(estimator_class, "numbers")))
    X = queries("numbers")
    expected = model.predict(X)
    model.set_params(similarity="l1", softstep_parameters="global", softstep="s2")
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), expected)
    model.save(tmp_path / "model")
    assert_array_equal(load(tmp_path / "model").predict(X), expected)


def test_a_model_of_many_columns(tmp_path):
    rng = np.random.RandomState(0)
    X = pd.DataFrame(rng.normal(size=(40, 1000)))
    X.columns = [f"a long name, one of a thousand: {i:0400d}" for i in range(1000)]
    model = NONARegressor(**SMALL | dict(max_iter=1)).fit(X, X.iloc[:, 0])
    model.save(tmp_path / "model")
    assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))


def test_a_device_that_is_not_there(good, tmp_path):
    metadata, arrays = read(good)
    tree = json.loads(metadata["skneighbors"])
    tree["content"]["params"]["dict"]["device"] = "cuda:99"
    write(tmp_path / "model", json.dumps(tree), arrays)
    X, expected = queries("table"), fit(NONARegressor, "table").predict(queries("table"))
    assert_array_equal(load(tmp_path / "model").predict(X), expected)
    assert load(tmp_path / "model", device="cpu").device == "cpu"
    for device, message in (("cuda:99", "is not usable"), ("gpu", "must be 'auto'"), (0, "load")):
        with pytest.raises(ValueError, match=f"device.*{message}") as error:
            load(tmp_path / "model", device=device)
        assert not isinstance(error.value, ModelFileError)


@pytest.mark.parametrize("name", ["predict", "device", "network_"])
def test_attributes_that_would_do_harm(good, tmp_path, name):
    refuses(good, tmp_path, lambda tree: attributes_of(tree).update({name: 3}), f"'{name}' is no")


def test_a_tensor_serves_once(good, tmp_path):
    def change(tree):
        attributes = attributes_of(tree)
        attributes["loss_curve_"] = {"list": [attributes["temperature_"]] * 2}

    refuses(good, tmp_path, change, "temperature_")

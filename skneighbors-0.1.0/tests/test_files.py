"""Files of fitted estimators: what is written comes back, and nothing else does."""

import contextlib
import enum
import io
import json
import os
import pickle
import re
import stat
import threading
import zipfile
from dataclasses import dataclass, replace
from datetime import date, timedelta, timezone
from decimal import Decimal
from functools import cache
from pathlib import Path
from uuid import UUID

import asked
import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
import skops.io
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, GroupKFold

import skneighbors
from skneighbors import PAPER, ModelFileError, NONARegressor, _io, load
from skneighbors._utils.arrays import Stored

# Few rows have weight; what intervals warn of then has tests of its own.
pytestmark = pytest.mark.filterwarnings("ignore:There are no validation rows")

# How many changed files are tried; more once, by hand.
N_CHANGED = int(os.environ.get("SKNEIGHBORS_N_CHANGED_FILES", "120"))
posix = pytest.mark.skipif(os.name != "posix", reason="modes and links of POSIX")
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
            "street": rng.choice([f"{i}s{i}" for i in range(30)], N),
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
    "time": ({}, lambda: make_numbers(1), {"time": np.arange(N)}),
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
        copied = pickle.loads(pickle.dumps(model))
        assert_same(model, copied, X)
        model = copied.append(X[:3], np.asarray(y)[:3]).forget([0, 5])
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


def test_metadata_requests_come_back(tmp_path):
    X, y = make_numbers(1)
    with sklearn.config_context(enable_metadata_routing=True):
        model = NONARegressor(**SMALL).set_fit_request(groups=True, sample_weight="weights")
        search = GridSearchCV(model, {"n_neighbors": [5, 9]}, cv=GroupKFold(2))
        best = search.fit(X, y, groups=np.arange(N) % 6).best_estimator_
        best.save(tmp_path / "model")
        for one in (best, load(tmp_path / "model"), sklearn.clone(load(tmp_path / "model"))):
            consumed = one.get_metadata_routing().consumes("fit", ["groups", "weights", "X_val"])
            assert consumed == {"groups", "weights"}


def test_only_the_fitted_are_saved(estimator_class, tmp_path):
    with pytest.raises(NotFittedError):
        estimator_class().save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_file_of_this_format():
    """Written by ``tests/data/write_model.py``, to be run again with each new format."""
    model = load(HERE / "model.skops")
    expected = json.loads((HERE / "model.json").read_text())
    X, _ = make_table()
    assert_allclose(model.predict(X.iloc[:10]), expected["predict"], rtol=1e-7)
    assert model.explain(X.iloc[:1]).labels[0].tolist() == expected["labels"]


def test_skops_with_our_types_trusted(estimator_class):
    model = fit(estimator_class, "table")
    dumped = skops.io.dumps(model)
    trusted = skops.io.get_untrusted_types(data=dumped)
    assert all(own.startswith("skneighbors.") for own in trusted)
    assert_same(model, skops.io.loads(dumped, trusted=trusted), queries("table"))


def test_parameters_set_since_do_not_change_what_is_fitted(estimator_class, tmp_path):
    model = pickle.loads(pickle.dumps(fit(estimator_class, "numbers")))
    X = queries("numbers")
    expected = model.predict(X)
    model.set_params(similarity="l1", softstep_parameters="global", softstep="s2")
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), expected)
    model.save(tmp_path / "model")
    assert_array_equal(load(tmp_path / "model").predict(X), expected)


# Where a file is written, and its mode.


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.fixture
def umask():
    before = os.umask(0o027)
    yield os.umask
    os.umask(before)


@posix
def test_modes(tmp_path, umask):
    """A new file has the mode that the process gives, and one that is replaced keeps its own."""
    model, path = fit(NONARegressor, "numbers"), tmp_path / "model"
    for mask, expected in ((0o027, 0o640), (0o077, 0o600), (0, 0o666)):
        umask(mask)
        model.save(tmp_path / f"{mask}")
        assert mode(tmp_path / f"{mask}") == expected
    path.touch()
    for own in (0o600, 0o644, 0o664):
        path.chmod(own)
        model.save(path)
        assert mode(path) == own
    load(path)


@posix
@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_stays_and_its_target_is_written(is_there, tmp_path):
    target = tmp_path / "models" / ("n" * 255)  # the longest name
    target.parent.mkdir()
    if is_there:
        target.touch(0o640)
    (tmp_path / "latest").symlink_to(target)
    (tmp_path / "link").symlink_to("latest")
    fit(NONARegressor, "numbers").save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "latest").readlink() == target
    load(target)
    assert list(target.parent.iterdir()) == [target]


@posix
def test_what_is_no_place_is_named_before_any_work_and_stays(tmp_path, monkeypatch):
    model = fit(NONARegressor, "numbers")
    monkeypatch.setattr(_io, "_write", None)
    monkeypatch.chdir(tmp_path)
    os.mkfifo("fifo")
    Path("link").symlink_to("fifo")
    Path("round").symlink_to("round")
    Path("folder").mkdir()
    Path("file").touch()
    before = set(tmp_path.iterdir())
    missing = re.escape(f"There is no folder {tmp_path / 'missing'} to save")
    for name, message in {
        "fifo": "fifo is no regular file",
        "link": "link is no regular file",
        "/dev/null": "/dev/null is no regular file",
        "round": "symbolic links",
        "folder": "folder is a folder; name a file",
        "file/model": "Not a directory",
        "missing/model": missing,
        str(tmp_path / "missing" / "model"): missing,
    }.items():
        with pytest.raises(OSError, match=message):
            model.save(name)
    assert set(tmp_path.iterdir()) == before


def test_an_interrupt_leaves_the_old_file_alone(good, tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(good.read_bytes())

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fit(NONARegressor, "numbers").save(path)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == good.read_bytes()


# What a table and parameters may hold.


class Color(enum.Enum):
    RED = 1
    GREEN = 2
    BLUE = 3


class Size(str, enum.Enum):
    SMALL = "s"


NAMES = {
    "numbers": [3, 0.5, -1],
    "text": ["a", "b", "c"],
    "UUIDs": [UUID(int=i) for i in range(3)],
    "tuples": [("a", 1), ("b", "m"), ("c", date(2026, 1, 1))],
    "moments": list(pd.date_range("2025-03-01", periods=3, freq="MS")),
    "moments in a zone": list(pd.date_range("2025-03-01", periods=3, freq="MS", tz="Asia/Tokyo")),
    "a mixture": [date(2026, 1, 1), pd.Timedelta("1h"), b"c"],
}


def make_index(values):
    return pd.Index(list(values), tupleize_cols=False)


def make_frame(values):
    """Values as names of columns and rows, and as the categories of a column."""
    index = make_index([values[i % 3] for i in range(N)])
    X = pd.DataFrame(X_NUMBERS, columns=make_index(values), index=index)
    X.isetitem(0, pd.Series(pd.Categorical(list(index)), index=index))
    return X


def fit_quickly(X=X_NUMBERS, **params):
    quick = SMALL | {"max_iter": 1, "n_estimators": 1, "hidden_layer_sizes": (4,)}
    return NONARegressor(**quick | params).fit(X, X_NUMBERS[:, 0])


def comes_back(model, X, folder):
    """Save and load: the same predictions, labels and parameters' fit."""
    model.save(folder / "model")
    again = load(folder / "model")
    assert_array_equal(again.predict(X), model.predict(X))
    assert again.explain(X[:9]).labels.tolist() == model.explain(X[:9]).labels.tolist()
    return again


@pytest.mark.parametrize("kind", NAMES)
def test_names_labels_and_categories_come_back(kind, tmp_path):
    X = make_frame(NAMES[kind])
    again = comes_back(fit_quickly(X), X, tmp_path)
    left = again.forget(X.index == X.index[1]).explain(X).labels
    assert X.index[1] not in left.ravel().tolist()


# What names the first two columns, whose names are of a kind.
COLUMNS = {
    ("text", "a series"): pd.Series(["a", "b"]),
    ("text", "an array"): np.asarray(["a", "b"]),
    ("text", "a list"): ["a", "b"],
    ("moments", "an index"): pd.Index(NAMES["moments"][:2]),
    ("moments in a zone", "a tuple"): tuple(NAMES["moments in a zone"][:2]),
    ("numbers", "an index"): pd.Index([0, 1]),
    ("numbers", "nullable"): pd.Series([0, 1], dtype="Int64"),
    ("numbers", "of polars"): pl.Series([0, 1]),
    ("numbers", "of Arrow"): pa.array([0, 1]),
    ("numbers", "of the other byte order"): np.array([0, 1], dtype=">i8"),
    ("numbers", "a mask"): pd.Series([True, True, False]),
}


@pytest.mark.parametrize(("kind", "held"), COLUMNS)
def test_parameters_of_any_library_come_back(kind, held, tmp_path):
    X = np.column_stack([np.arange(N) % 3, np.arange(N) % 4, X_NUMBERS[:, 0]])
    if kind != "numbers":
        X = pd.DataFrame(X, columns=make_index(NAMES[kind]))
    sizes, columns = pd.Series([4, 3]), COLUMNS[kind, held]
    model = fit_quickly(X, categorical_features=columns, hidden_layer_sizes=sizes)
    again = comes_back(model, X, tmp_path)
    assert_array_equal(again.categorical_features, np.asarray(columns))
    assert_array_equal(again.fit(X, X_NUMBERS[:, 0]).predict(X), model.predict(X))


def test_memory_maps_come_back(tmp_path):
    X = np.memmap(tmp_path / "X", dtype=np.float64, mode="w+", shape=X_NUMBERS.shape)
    X[:] = X_NUMBERS
    joblib.dump(fit_quickly(X), tmp_path / "dumped")
    comes_back(joblib.load(tmp_path / "dumped", mmap_mode="r"), X, tmp_path)


def test_a_model_of_many_columns(tmp_path):
    X = pd.DataFrame(np.random.RandomState(0).normal(size=(N, 1000)))
    X.columns = [f"a long name, one of a thousand: {i:0400d}" for i in range(1000)]
    model = fit_quickly(X)
    model.save(tmp_path / "model")
    assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))


ZONES = st.none() | st.integers(-1439, 1439).map(lambda own: timezone(timedelta(minutes=own)))
CELLS = {
    "JSON's": st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    "bytes": st.binary(),
    "dates": st.dates(),
    "moments": st.datetimes(timezones=ZONES),
    "times of day": st.times(timezones=ZONES),
    "durations": st.timedeltas(),
    "UUIDs": st.uuids(),
    "tuples": st.tuples(st.dates(), st.tuples(st.text(), st.integers())),
    "NumPy's": st.sampled_from(
        [np.float32(0.1), np.int8(3), np.bool_(True), np.str_("a"), np.bytes_(b"a"), np.float16(2)]
    ),
    "pandas' times": st.integers(-(2**52), 2**52).map(lambda own: pd.Timestamp(own, unit="us")),
    "pandas' durations": st.integers(-(2**52), 2**52).map(lambda n: pd.Timedelta(n, unit="us")),
}


@pytest.mark.parametrize("kind", CELLS)
@settings(max_examples=30)
@given(data=st.data())
def test_cells_come_back_equal(kind, data):
    value = data.draw(CELLS[kind])
    (again,) = _io.read(_io._write([value], "x"))
    assert again == value
    assert hash(again) == hash(value)


NO_CELLS = [Color.RED, Size.SMALL, Decimal(1), 1j, frozenset([1]), np.longdouble(1), print, pd.NaT]
NO_CELLS += [pd.Interval(0, 1), pd.Period("2026-01"), pd.Timestamp(1), np.datetime64(1, "D")]


@pytest.mark.parametrize("value", NO_CELLS, ids=repr)
def test_what_is_no_cell_is_not_written(value):
    with pytest.raises(ValueError, match=r"A file cannot hold x\.?.*, of type"):
        _io._write([value], "x")


@pytest.mark.parametrize("text", ['[{"run": 1}]', '[{"date": 3}]', '[{"timedelta": "x"}]', "{"])
def test_what_was_never_written_is_refused(text):
    with pytest.raises((KeyError, TypeError, ValueError)):
        _io.read({"list": text.encode()})


def refuses_to_save(model, message, folder):
    """Nothing is written, and pickle, which the message names, holds the model."""
    with pytest.raises(ValueError, match=message) as caught:
        model.save(folder / "model")
    assert not list(folder.iterdir())
    if "Use pickle" in str(caught.value):
        pickle.dumps(model)


PARAMS = {"feature_extractor": torch.nn.Flatten, "random_state": np.random.RandomState(0)}


@pytest.mark.parametrize("name", PARAMS)
def test_parameters_that_are_refused_by_name(name, tmp_path):
    model = fit_quickly(**{name: PARAMS[name]})
    refuses_to_save(
        model, rf"cannot hold a parameter, params\.{name}: .*Use pickle or joblib, or", tmp_path
    )


COLORS = [[*Color][i % 3] for i in range(N)]
PLACES = {
    "a category of X, model.reader.kinds.0.codes": lambda X: X.assign(u=pd.Categorical(COLORS)),
    "a column's name, model.reader.names": lambda X: X.set_axis(make_index(Color), axis=1),
    "a label of the index of X, model.numbering.labels": lambda X: X.set_axis(make_index(COLORS)),
}


@pytest.mark.parametrize("place", PLACES)
def test_values_in_a_table_that_are_refused_by_place(place, tmp_path):
    X = PLACES[place](pd.DataFrame(X_NUMBERS, columns=["u", "v", "w"]))
    message = rf"A file cannot hold {place}.*: <Color.*, of type 'Color'\. Use pickle or joblib"
    refuses_to_save(fit_quickly(X), message, tmp_path)


def test_attributes(tmp_path):
    """They come back as they are, or are refused by name."""
    model = fit_quickly()
    model.counts_, model.codes_ = {"a": 5, "b": 7}, {(0,): "x", 1.5: None}
    model.curves_ = [np.arange(3), {"a": [1, np.eye(2)]}]
    again = comes_back(model, X_NUMBERS, tmp_path)
    assert (again.counts_, again.codes_) == (model.counts_, model.codes_)
    assert_array_equal(again.curves_[1]["a"][1], np.eye(2))
    (tmp_path / "model").unlink()
    for value in (threading.Lock(), Color.RED, [Color.RED]):
        model.note_ = value
        with pytest.raises(ValueError, match=r"cannot hold attributes\.note_"):
            model.save(tmp_path / "model")
    del model.note_
    model.note = 1
    refuses_to_save(model, "'note' is no attribute of a fitted estimator", tmp_path)


class Own(NONARegressor):
    pass


@dataclass(frozen=True, eq=False)
class Unlisted:
    z: int = 0


def test_classes_that_are_not_listed_are_named(tmp_path):
    own = Own(**SMALL).fit(X_NUMBERS, X_NUMBERS[:, 0])
    refuses_to_save(own, "cannot hold a Own. Use pickle or joblib", tmp_path)
    model = fit_quickly()
    model._model = replace(model._model, blended_model=Unlisted())
    refuses_to_save(model, "model.blended_model: Unlisted.*, of type 'Unlisted'", tmp_path)
    twin = type("Model", (Stored,), {})()
    model._model = replace(model._model, blended_model=twin)
    refuses_to_save(model, "another class has that name", tmp_path)
    refuses_to_save(fit_quickly().set_params(n_neighbors=-1), "n_neighbors", tmp_path)


# Files of others.


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("good") / "model"
    fit(NONARegressor, "table").save(path)
    return path


def dump_nothing(files):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return content.getvalue()


CONTENTS = {
    "empty": b"",
    "short": b"1234567",
    "a pickle": pickle.dumps(print),
    "zeros": dump_nothing({"zeros": bytes(2**24)}),
    "no schema": dump_nothing({"a": "b"}),
    "no JSON": dump_nothing({"schema.json": "{"}),
    "nested": dump_nothing({"schema.json": '{"a":' * 10**5 + "1" + "}" * 10**5}),
    "a number": skops.io.dumps(3),
    "a dict": skops.io.dumps({"a": np.ones(3)}),
    "an estimator": skops.io.dumps(LinearRegression()),
    "a function": skops.io.dumps(np.exp),
    "our class": skops.io.dumps(Unlisted()),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_files_of_others(name, tmp_path):
    (tmp_path / "file").write_bytes(CONTENTS[name])
    with pytest.raises(ModelFileError, match="file is no file of a model"):
        load(tmp_path / "file")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none")


@pytest.mark.parametrize("version", [1, _io.FORMAT + 1, "x"])
def test_another_format_is_named_with_what_to_do(good, version, tmp_path):
    remedy = (
        f"is of format {version!r}; this version of skneighbors reads format {_io.FORMAT}. Load "
        "it with the version that wrote it, or fit the model again and save it"
    )
    skops.io.dump(skops.io.load(good) | {"format": version}, tmp_path / "file")
    with pytest.raises(ModelFileError, match=remedy):
        load(tmp_path / "file")


def content_of(node):
    ((tag, content),) = node.items()
    if tag == "lists":
        return content_of(content[0])
    return content_of(content) if tag == "each" else content


def find(tree, path):
    """Parts by name, or a list, of what stands at a path in a tree that skops has read."""
    first, *names = path.split(".")
    node = tree[first]
    for name in names:
        node = node[int(name)] if isinstance(node, list) else content_of(node)[name]
    return node if isinstance(node, list) else content_of(node)


def cells_of(parts):
    cells = json.loads(parts[""])
    return dict(zip(cells[: len(cells) // 2], cells[len(cells) // 2 :], strict=True))


def set_cells(**changes):
    def change(parts):
        cells = cells_of(parts) | changes
        parts[""] = json.dumps([*cells, *cells.values()]).encode()

    return change


def make_array(name, function):
    def change(parts):
        alike = parts[name]["arrays"] if isinstance(parts[name], dict) else None
        old, place = (parts, name) if alike is None else (alike, 0)
        old[place] = np.ascontiguousarray(function(old[place]))

    return change


def rename(old, new):
    """Let one part stand in another's place."""

    def change(parts):
        if new:
            parts[new] = parts[old]
        del parts[old]

    return change


PARTS = "model.blended_model.parts"
TREES, CODES = (f"{PARTS}.boosting.bags.{part}" for part in ("trees", "encoder"))
LINE, FEATURES = f"{PARTS}.linear", f"{PARTS}.linear.features"
ROWS, NETWORK = "model.bank.rows", "model.bank.network"
EMBEDDER = f"{NETWORK}.architecture.embedder"
# Where something is changed, how, and what the message says.
EDITS = {
    "estimator": ("", lambda tree: tree.update(estimator="Ridge"), "Ridge"),
    "part": ("", lambda tree: tree.update(more=1), "holds other parts than a model"),
    "class": (
        "",
        lambda tree: tree.update(model={"Popen": tree["model"]["Model"]}),
        "the class 'Popen' is unknown",
    ),
    "another class": (
        "model.bank",
        lambda parts: parts.update(
            rows={"LabeledRows": {"": b"[]", "X": np.eye(2), "y": np.eye(2)}}
        ),
        "model|LabeledRows|targets|trends",
    ),
    "tag": ("params", lambda parts: parts.update(device={"run": {"": b"[]"}}), "'run' is unknown"),
    "field": ("model", rename("blended_model", None), "blended_model"),
    "more": ("model", lambda parts: parts.update(more=np.eye(2)), "more"),
    "parameter": ("params", set_cells(batch_size=-1), "batch_size"),
    "weight": ("model.bank", set_cells(blend_weight=7.0), "weight of the blended model"),
    "validation": ("model.validation", rename("residuals", "weight"), "DrawnRows"),
    "half a validation": (
        "model.validation",
        lambda parts: parts.update(weight=parts["residuals"][:, 0] ** 2),
        "validation lacks some of its parts|weight",
    ),
    "no neighbors": ("model.validation", set_cells(n_neighbors=0), "validation.n_neighbors is 0"),
    "weights": ("model.blended_model.weights", set_cells(linear=0.9), "weights of the blended"),
    "no weight": ("model.blended_model", rename("weights", None), "weights"),
    "a part less": (PARTS, rename("linear", None), "weights of the blended model"),
    "widths": (EMBEDDER, set_cells(hidden_layer_sizes={"tuple": [10**9]}), "wider than its arrays"),
    "members": (f"{NETWORK}.architecture", set_cells(n_members=10**9), "wider than its"),
    "inputs": (EMBEDDER, set_cells(n_features=10**9), "wider than its arrays"),
    "one input more": (EMBEDDER, set_cells(n_features=9), "size mismatch|fit the encoder"),
    "head": (f"{NETWORK}.architecture", lambda parts: parts.update(head={"nn": "os"}), "os"),
    "order": (
        "model.reader",
        lambda parts: parts.update(order={"list": b"[0, 0]"}),
        "columns|reader",
    ),
    "attribute": ("attributes", set_cells(predict=3), "'predict' is no"),
    "parameter as attribute": ("attributes", set_cells(device="x"), "'device' is no"),
    "property": ("attributes", set_cells(network_=3), "'network_' is no"),
    "rows of no row": (
        "model.validation",
        make_array("rows", lambda a: a * 0 - 1),
        r"validation\.rows holds values below 0",
    ),
    "object array": (ROWS, make_array("z", lambda a: a.astype(object)), "z|NoneType|items"),
}
ARRAYS = {
    f"{ROWS}.targets": (lambda a: a[:-1], "targets"),
    f"{ROWS}.z": (lambda a: np.where(a == a.max(), np.nan, a), "z holds NaN"),
    f"{ROWS}.group": (lambda a: a * 0 + 2**29, "group holds values that are too large"),
    "model.numbering.row_of": (lambda a: a - 10**6, "row_of holds values below"),
    "model.validation.rows": (lambda a: a + 10**6, "rows"),
    "model.validation.residuals": (lambda a: a[:-1], "validation"),
    "model.encoder.numbers": (lambda a: a * 0 + 1, "numbers does not ascend"),
    "model.encoder.coded": (lambda a: a + 100, "coded"),
    "model.encoder.n_categories": (lambda a: a + 1, "n_categories does not fit"),
    f"{TREES}.value": (lambda a: a * np.nan, "value"),
    f"{TREES}.feature": (lambda a: a + 100, "feature"),
    f"{TREES}.right_leaves": (lambda a: ~a, "trees lead nowhere"),
    f"{TREES}.category_split": (lambda a: a + 10**6, "category_split"),
    f"{CODES}.codes": (lambda a: a + 300, "encoder.codes"),
    f"{CODES}.n_categories": (lambda a: a + 1, "encoder.n_categories does not fit"),
    f"{LINE}.coef": (lambda a: a[:, :-1], "linear.coef has shape"),
    f"{LINE}.intercept": (lambda a: a * np.inf, "linear.intercept holds NaN or infinity"),
    f"{FEATURES}.n_categories": (lambda a: a[::-1], "n_categories does not fit"),
    f"{FEATURES}.low": (lambda a: a[:-1], r"features\.low has shape"),
    f"{FEATURES}.mean": (lambda a: a * np.nan, r"features\.mean holds NaN"),
    f"{FEATURES}.scale": (lambda a: -a, r"features\.scale holds values below 0"),
    f"{FEATURES}.flagged": (lambda a: a + 100, r"features\.flagged holds values that are too"),
    f"{FEATURES}.categories": (lambda a: a + 10**6, r"features\.categories holds values that"),
    "model.matrix": (lambda a: a.astype(np.float32), "matrix"),
    f"{NETWORK}.arrays.embedder.layers.0.linear.weight": (lambda a: a[:, :, :-1], "weight"),
    f"{NETWORK}.arrays.embedder.layers.1.weight": (lambda a: a * np.nan, "not finite"),
}
for path, (function, message) in ARRAYS.items():
    where, name = re.fullmatch(r"(.*?arrays|.*(?=\.))\.(.*)", path).groups()
    EDITS[path] = where, make_array(name, function), message


@pytest.mark.parametrize("edit", EDITS)
def test_files_that_were_edited(good, tmp_path, edit):
    (where, change, message), tree = EDITS[edit], skops.io.load(good)
    change(find(tree, where) if where else tree)
    skops.io.dump(tree, tmp_path / "edited")
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "edited")


def test_a_device_that_is_not_there(good, tmp_path):
    tree = skops.io.load(good)
    set_cells(device="cuda:99")(find(tree, "params"))
    skops.io.dump(tree, tmp_path / "model")
    X, expected = queries("table"), fit(NONARegressor, "table").predict(queries("table"))
    assert_array_equal(load(tmp_path / "model").predict(X), expected)
    assert load(tmp_path / "model", device="cpu").device == "cpu"
    for device, message in (("cuda:99", "is not usable"), ("gpu", "must be 'auto'"), (0, "load")):
        with pytest.raises(ValueError, match=f"device.*{message}") as error:
            load(tmp_path / "model", device=device)
        assert not isinstance(error.value, ModelFileError)


def test_changed_files_are_refused(good, tmp_path):
    """Or predict the same: a date of an entry does not matter."""
    rng, content = np.random.default_rng(0), good.read_bytes()
    X, path = queries("table"), tmp_path / "changed"
    expected, n_refused = load(good).predict(X), 0
    for i in range(N_CHANGED):
        changed = bytearray(content)
        if i % 3 == 0:
            changed = changed[: rng.integers(len(content))]
        elif i % 3 == 1:
            start, stop = np.sort(rng.integers(len(content), size=2))
            changed[start:stop] = bytes(rng.permutation(np.frombuffer(changed[start:stop], "u1")))
        else:
            for place in rng.integers(len(content), size=rng.integers(1, 4)):
                changed[place] ^= 1 << rng.integers(8)
        path.write_bytes(changed)
        try:
            assert_array_equal(load(path).predict(X), expected)
        except ModelFileError:
            n_refused += 1
    assert n_refused >= 0.95 * N_CHANGED


def edit_at_random(node, rng):
    """Change one value of a tree, in place."""
    keys = list(node) if isinstance(node, dict) else range(len(node))
    if not len(keys):
        return
    key = keys[rng.integers(len(keys))]
    value = node[key]
    if isinstance(value, dict | list) and value and rng.random() > 0.1:
        edit_at_random(value, rng)
    elif isinstance(value, np.ndarray) and value.size and value.dtype != object:
        array = value.copy()
        number = [-1, 0, 1, 2**31, np.nan if array.dtype.kind == "f" else 3][rng.integers(5)]
        with np.errstate(invalid="ignore"):
            array.reshape(-1)[rng.integers(array.size)] = np.array(number).astype(array.dtype)
        node[key] = array
    elif isinstance(value, bytes) and rng.random() > 0.1:
        cells = json.loads(value)
        if cells:
            edit_at_random(cells, rng)
        node[key] = json.dumps(cells).encode()
    else:
        values = [None, True, -1, 0, 3, 2**70, 1e308, float("nan"), "", "auto", [], {}]
        node[key] = values[rng.integers(len(values))]


def test_edited_files_that_are_whole_do_no_harm(good, tmp_path):
    """They load or are refused; what they then predict is whatever they say, or an error."""
    rng, X, path = np.random.default_rng(1), queries("table"), tmp_path / "edited"
    for _ in range(N_CHANGED // 3):
        tree = skops.io.load(good)
        edit_at_random(tree, rng)
        skops.io.dump(tree, path)
        try:
            model = load(path)
        except ModelFileError:
            continue
        harmless = ValueError, TypeError, IndexError, RuntimeError, ArithmeticError
        with np.errstate(all="ignore"), contextlib.suppress(*harmless):
            model.predict(X)

"""Tables of any library to one matrix: numbers, codes of levels, days; gaps are NaN."""

import datetime
import enum
import warnings
from decimal import Decimal
from fractions import Fraction

import dateutil.tz
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from sklearn.preprocessing import OrdinalEncoder

from skneighbors import ColumnWarning
from skneighbors._columns.column import CATEGORIES, NOTHING
from skneighbors._columns.reader import TableReader
from skneighbors._columns.table import Table, unwrap
from skneighbors._columns.values import DURATIONS, NUMBERS, TIMES

NAN, UNKNOWN = np.nan, -1
MOMENTS = [datetime.datetime(2020, 1, 1), None, datetime.datetime(1969, 12, 31, 12)]
DAYS = [18262.0, NAN, -0.5]


def read(X, categorical_features="from_dtype"):
    table = Table.of(X)
    reader = TableReader.of(table, categorical_features, np.ones(len(table.data)))
    return reader, reader.read(table)


# What tests/test_every_table.py does not hold in each library's own dtypes.
BASE = pd.Series(pd.to_datetime(["2020-01-01 00:00", None, "1969-12-31 12:00"]))
ZONES = ["UTC", "Asia/Tokyo", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "EST5EDT", "+05:30"]
ZONES += [dateutil.tz.gettz("Asia/Kolkata"), dateutil.tz.tzoffset(None, 3600)]
ZONES += [datetime.timezone(datetime.timedelta(hours=-3, minutes=-30))]
PANDAS = {
    f"in zone {zone}": (BASE.dt.tz_localize("UTC").dt.tz_convert(zone), TIMES, DAYS)
    for zone in ZONES
}
PANDAS |= {
    name: (pd.Series(values, dtype=object), kind, expected)
    for name, (values, kind, expected) in {
        "numbers": ([1, None, np.float32(2.5)], NUMBERS, [1, NAN, 2.5]),
        "NaT": ([1, pd.NaT, 2.5], NUMBERS, [1, NAN, 2.5]),
        "NA": ([1, pd.NA, 2.5], NUMBERS, [1, NAN, 2.5]),
        "nothing": ([None] * 3, NOTHING, [NAN] * 3),
        "bools": ([True, None, False], CATEGORIES, [0, NAN, 1]),
        "text": (["b", NAN, "a"], CATEGORIES, [0, NAN, 1]),
        "digits": (["10", "9", "10"], NUMBERS, [10, 9, 10]),
        "codes of digits": (["010", "009", "010"], CATEGORIES, [0, 1, 0]),
        "days": ([datetime.date(1970, 1, 2), None], TIMES, [1, NAN]),
        "NumPy's": ([np.datetime64(36, "h"), None], TIMES, [1.5, NAN]),
    }.items()
}
PANDAS |= {
    "floats": (pd.Series([1.5, NAN, -0.0]), NUMBERS, [1.5, NAN, 0.0]),
    "numeric levels": (pd.Series([7, 5, 7]).astype("category"), CATEGORIES, [0, 1, 0]),
    "moments as objects": (
        BASE.dt.tz_localize("EST").astype(object),
        TIMES,
        [18262 + 5 / 24, NAN, -1 + 17 / 24],
    ),
    "sparse": (pd.Series(pd.arrays.SparseArray([0.0, 1.5])), NUMBERS, [0, 1.5]),
    "long": (pd.Series([0.5, NAN], dtype="longdouble"), NUMBERS, [0.5, NAN]),
    "large": (pd.Series([2**63 + 2**12, None], dtype="UInt64"), NUMBERS, [2.0**63 + 2**12, NAN]),
}
POLARS = {
    "floats": (pl.Series([1.5, None, NAN]), NUMBERS, [1.5, NAN, NAN]),
    "128 bits": (pl.Series([2**100, None], dtype=pl.Int128), NUMBERS, [2.0**100, NAN]),
    "times of day": (pl.Series([datetime.time(12, 36), None]), DURATIONS, [0.525, NAN]),
    "enum": (pl.Series(["b", None, "a"], dtype=pl.Enum(["a", "b"])), CATEGORIES, [0, NAN, 1]),
    "moments": (pl.Series(MOMENTS), TIMES, DAYS),
}
ARROW = {
    "beyond 2^53": (pa.array([2**53 + 1, None], pa.int64()), NUMBERS, [2.0**53, NAN]),
    "half": (pa.array(np.array([1.5], np.float16)), NUMBERS, [1.5]),
    "run ends": (pa.RunEndEncodedArray.from_arrays([2, 3], [1, 2]), NUMBERS, [1, 1, 2]),
    "text by views": (pa.array(["b", None, "a"], pa.string_view()), CATEGORIES, [0, NAN, 1]),
    "moments": (pa.array(MOMENTS, pa.timestamp("ns")), TIMES, DAYS),
    "off UTC": (pa.array(MOMENTS, pa.timestamp("s", "+05:30")), TIMES, DAYS),
    "nothing": (pa.nulls(2), NOTHING, [NAN, NAN]),
}
CASES = [(pd.DataFrame, *case) for case in PANDAS.values()]
CASES += [(pl.DataFrame, *case) for case in POLARS.values()]
NAMES = [f"pandas {name}" for name in PANDAS] + [f"polars {name}" for name in POLARS]
CASES += [(pa.table, *case) for case in ARROW.values()]
CASES += [
    (pd.DataFrame, pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([case[0]]))), *case[1:])
    for case in ARROW.values()
]
NAMES += [f"{how} {name}" for how in ("Arrow", "pandas with Arrow's") for name in ARROW]


@pytest.mark.parametrize(("frame", "values", "kind", "expected"), CASES, ids=NAMES)
def test_columns_by_their_dtypes(frame, values, kind, expected):
    for name in ("a", "only beside numbers"):
        X = frame({name: values} if name == "a" else {name: values, "z": range(len(values))})
        reader, matrix = read(X)
        assert reader.kinds[0] == kind
        assert matrix.dtype == np.float64
        assert_array_equal(matrix[:, 0], expected)


def test_arrays_and_lists_by_their_values():
    rows = [[1, "b", None, True], [2.5, "a", 3, False], [None, "b", NAN, True]]
    expected = [[1, 0, NAN, 0], [2.5, 1, 3, 1], [NAN, 0, NAN, 0]]
    for X in (rows, np.array(rows, dtype=object), pd.DataFrame(rows)):
        assert_array_equal(read(X)[1], expected)
    assert_array_equal(read(np.array([["1"], ["2"]]))[1], [[1], [2]])
    assert_array_equal(read(np.array([[True], [False]]))[1], [[0], [1]])
    moments = np.array(["1970-01-02", "NaT"], dtype="datetime64[ns]")
    assert_array_equal(read(moments[:, None])[1], [[1], [NAN]])


def test_text_of_numpy():
    for na_object in (None, NAN):
        X = np.array([["b"], [na_object], ["a"]], np.dtypes.StringDType(na_object=na_object))
        assert_array_equal(read(X)[1], [[0], [NAN], [1]])
    assert_array_equal(read(np.array([["12"], ["3"]], np.dtypes.StringDType()))[1], [[12], [3]])


def test_lists_keep_what_their_values_are():
    assert read([[True, 1.5], [False, 2.5]])[0].kinds == [CATEGORIES, NUMBERS]
    assert read([[np.float32(1.5)], [2]])[0].kinds == [NUMBERS]
    assert read([[MOMENTS[0], 1], [None, 2]])[0].kinds == [TIMES, NUMBERS]


MIXED = {
    "a bool": [0.5, True, 1.5],
    "a bool of NumPy": [1, np.False_, 3],
    "text": [1, 2, "3"],
    "a date": [1, datetime.date(2020, 1, 1)],
    "a date beside text": ["a", datetime.date(2020, 1, 1)],
    "a bool beside text": ["1", True],
}


@pytest.mark.parametrize("n_before", [0, 300])
@pytest.mark.parametrize("values", MIXED.values(), ids=MIXED)
def test_columns_of_more_than_one_kind(values, n_before):
    values = values[:1] * n_before + values
    column = np.empty((len(values), 1), dtype=object)
    column[:, 0] = values
    for X, name in ((pd.DataFrame({"a": values}, dtype=object), "'a'"), (column.tolist(), "0")):
        other = next(value for value in values if type(value) is not type(values[0]))
        what = rf"{name} of X holds .*, of type '{type(other).__name__}', beside .*astype"
        for categorical_features in ("from_dtype", [0], None):
            with pytest.raises(ValueError, match=what):
                read(X, categorical_features)


def test_levels_of_any_width():
    X = pd.DataFrame({"a": pd.Categorical(np.float32([0.1, 0.2, 0.7]))})
    reader, matrix = read(X)
    for other in (
        pd.DataFrame({"a": [0.1, 0.2, 0.7]}),
        pd.DataFrame({"a": X["a"].astype("float32").astype("float64")}),
        pl.DataFrame({"a": [Decimal("0.1"), Decimal("0.2"), Decimal("0.7")]}),
        np.float32([[0.1], [0.2], [0.7]]),
    ):
        assert_array_equal(reader.read(Table.of(other)), matrix)


def test_levels_that_are_dates():
    days = pd.Series(pd.to_datetime(["2020-01-01", "2021-01-01"]))
    reader, matrix = read(pd.DataFrame({"a": days.astype("category")}))
    for values in (days, days.dt.tz_localize("UTC").astype(object), days.dt.date, days.to_list()):
        assert_array_equal(reader.read(Table.of(pd.DataFrame({"a": values}))), matrix)
    with pytest.raises(ValueError, match=r"'a' of X holds .* 5, .* in fit they were .* dates"):
        reader.read(Table.of(pd.DataFrame({"a": [5]})))


def test_bools_are_zero_and_one():
    reader, matrix = read(pd.DataFrame({"a": [True, False, None]}))
    for values in ([1, 0, NAN], [1.0, 0, None], [np.True_, np.False_, None]):
        other = pd.DataFrame({"a": pd.Series(values, dtype=object)})
        assert_array_equal(reader.read(Table.of(other)), matrix)
    for value in (0.5, 2, -1):
        with pytest.raises(ValueError, match=rf"'a' of X holds .* {value}, .* numbers but bools"):
            reader.read(Table.of(pd.DataFrame({"a": [1, value]})))
    reader, matrix = read(pd.DataFrame({"a": pd.Categorical([1, 0, None])}))
    assert_array_equal(reader.read(Table.of(pd.DataFrame({"a": [True, False, None]}))), matrix)


def test_names_that_are_no_text_in_another_order():
    X = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=[0, 1])
    reader, matrix = read(X)
    with pytest.raises(ValueError, match=r"Columns of X must be those of fit.* 1, in fit .* 0\."):
        reader.read(Table.of(X[[1, 0]]))
    assert_array_equal(reader.read(Table.of(X.to_numpy())), matrix)
    assert_array_equal(reader.read(Table.of(X.set_axis([5, 7], axis=1))), matrix)
    gone, _ = read(X.set_axis([np.nan, 1.0], axis=1))
    assert_array_equal(gone.read(Table.of(X.set_axis([float("nan"), 1.0], axis=1))), matrix)
    years, _ = read(X.set_axis([2019, 2020], axis=1))
    assert_array_equal(years.read(Table.of(X)), matrix)
    with pytest.raises(ValueError, match=r"those of fit.* there is 2020, in fit there was 2019"):
        years.read(Table.of(X.set_axis([2020, 2021], axis=1)))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_wrapped_frames(frame):
    X = frame({"b": [1.5], "a": ["x"]})
    assert unwrap(nw.from_native(X)) is unwrap(X) is X
    for read_lazily in (unwrap, Table.of):
        with pytest.raises(TypeError, match="X is a LazyFrame: collect it first"):
            read_lazily(nw.from_native(pl.LazyFrame({"a": [1]})))


def test_masked_values_are_gaps():
    floats = np.ma.array([[1.5, 2], [3, 4]], mask=[[0, 1], [0, 0]])
    assert_array_equal(read(unwrap(floats))[1], [[1.5, NAN], [3, 4]])
    days = np.ma.array(np.array([["2020-01-01"], ["1970-01-02"]], "M8[ns]"), mask=[[1], [0]])
    assert_array_equal(read(unwrap(days))[1], [[NAN], [1]])


def test_categories_that_differ_by_case_or_spaces_are_named():
    reader, _ = read(pd.DataFrame({"a": ["yes", "no", "may be"] * 5, "b": [1, 2, 3] * 5}))
    for cell in ("YES", "yes ", "MAY BE"):
        with pytest.warns(
            ColumnWarning, match=f"'a' of X: cells such as '{cell}' count as missing"
        ):
            X = reader.read(Table.of(pd.DataFrame({"a": ["no", cell], "b": [1, 2]})))
        assert_array_equal(X[:, 0], [1, -1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reader.read(Table.of(pd.DataFrame({"a": ["no", "new"], "b": [1, 2]})))


def test_batches_of_arrow_are_frames():
    batch = pa.record_batch({"b": [1.5, 2], "a": ["x", None]})
    assert unwrap(batch).column_names == ["b", "a"]
    assert_array_equal(read(unwrap(batch))[1], [[0, 1.5], [NAN, 2]])


CELLS = {
    "arrays": np.ones(10**6),
    "decimals": Decimal("0.5"),
    "fractions": Fraction(1, 2),
    "durations": datetime.timedelta(1),
    "durations of NumPy": np.timedelta64(36, "h"),
    "times of day": datetime.time(6),
    "periods": pd.Period("1970-02"),
    "intervals": pd.Interval(0, 1),
    "members of an enum": enum.Enum("Color", ["RED"], type=str).RED,
    "frames": pd.DataFrame({"b": [1]}),
    "dicts": {"a": "b" * 10**6},
    "lists": [[1.0] * 10**5],
    "bytes": b"a" * 10**6,
    "complex": 1j,
    "large": 10**5000,
}


@pytest.mark.parametrize("cell", CELLS.values(), ids=CELLS)
def test_what_cells_should_not_hold(cell):
    for values in ([cell] * 3, [1, None, cell], ["a" * 10**6, cell, None], [cell, 2.5, NAN]):
        column = pd.Series([None] * 3, dtype=object)
        for i, value in enumerate(values):
            column.iat[i] = value
        reader, _ = read(pd.DataFrame({"u" * 100: ["a", "b", "c"]}))
        X = pd.DataFrame({"u" * 100: column})
        for ask in (read, lambda X, reader=reader: reader.read(Table.of(X))):
            with pytest.raises(ValueError, match=r"Column 'uuu.*\.\.\. of X holds") as error:
                ask(X)
            assert len(str(error.value)) < 500


def test_a_dtype_of_categories_may_hold_anything():
    numbers = pd.Series([1.0, 5.0, 9.0, np.nan])
    for values in (pd.cut(numbers, 2), pd.to_datetime(numbers).astype("category")):
        reader, matrix = read(pd.DataFrame({"a": values}))
        assert np.isnan(matrix[3, 0])
        assert_array_equal(reader.read(Table.of(pd.DataFrame({"a": values[[2]]}))), matrix[[2]])


@pytest.mark.parametrize("columns", [[0, 2], ["a", "c"], [True, False, True], ("a", "c")])
def test_columns_given_as_categorical(columns):
    X = pd.DataFrame({"a": [3, 1, 3], "b": [3, 1, 3], "c": [0.5, NAN, 0.25]})
    _, matrix = read(X, columns)
    assert_array_equal(matrix, [[0, 3, 0], [1, 1, NAN], [0, 3, 1]])
    if not isinstance(columns[0], str):
        assert_array_equal(read(X.to_numpy(), columns)[1], matrix)


def test_columns_of_several_levels_of_names_are_given_as_categorical():
    X = pd.DataFrame([[3.0, 1.0], [1.0, 1.0]])
    X.columns = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")])
    assert read(X, [("a", "x")])[0].kinds == [CATEGORIES, "numbers"]
    with pytest.raises(ValueError, match=r"names 7, which is no column .* Ints are indices"):
        read(X, [7])


def test_bools_are_numbers_where_fit_had_numbers():
    reader, _ = read(pd.DataFrame({"a": [0, 1]}))
    for values in ([True, False], np.array([True, None], dtype=object)):
        assert reader.read(Table.of(pd.DataFrame({"a": values})))[0, 0] == 1


def test_none_is_categorical():
    X = pd.DataFrame({"a": [3, 1]})
    assert_array_equal(read(X, None)[1], X)
    with pytest.raises(ValueError, match=r"Column 'a' of X holds 'x', but categorical_features="):
        read(pd.DataFrame({"a": ["x", "y"]}), None)
    with pytest.raises(ValueError, match=r"Column 'b' of X holds True, but"):
        read(X.assign(b=True), ["a"])


def test_levels_are_found_by_value():
    reader, _ = read(pd.DataFrame({"a": pd.Series(["x", "y"], dtype="category"), "b": [1, 2]}))
    other = pd.DataFrame({"a": ["z", "y", None], "b": [1, 2, 3]})
    assert_array_equal(reader.read(Table.of(other))[:, 0], [UNKNOWN, 1, NAN])
    other["a"] = pd.Categorical(["x", "y", "y"], categories=["y", "q", "x"])
    assert_array_equal(reader.read(Table.of(other))[:, 0], [0, 1, 1])
    for X in (
        pl.DataFrame({"a": ["y", None, "x"], "b": [1, 2, 3]}),
        [["y", 1], [None, 2], ["x", 3]],
    ):
        assert_array_equal(reader.read(Table.of(X))[:, 0], [1, NAN, 0])


def test_columns_that_are_missing_throughout():
    X = pd.DataFrame({"a": [1.0], "b": ["x"], "c": pd.to_datetime(["2020-01-01"])})
    reader, _ = read(X)
    for gap in (None, NAN, pd.NaT):
        assert np.isnan(reader.read(Table.of(pd.DataFrame({name: [gap] for name in "abc"})))).all()
    assert np.isnan(reader.read(Table.of(pl.DataFrame({name: [None] for name in "abc"})))).all()


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("a", ["x"], "holds text, such as 'x'; in fit it held numbers"),
        (
            "a",
            pd.to_datetime(["2020"]),
            r"holds dates, such as .*; in fit it held numbers",
        ),
        ("b", [1], "holds categories such as 1, of type 'int'; in fit they were text"),
        ("c", [1], "holds numbers, such as 1; in fit it held dates"),
        ("c", ["2020-01-01"], "holds text, such as '2020-01-01'; in fit it held dates"),
        ("d", ["7"], "holds categories such as '7', of type 'str'; in fit they were no text"),
        ("c", pd.to_timedelta([5]), "holds durations, such as .*; in fit it held dates"),
        ("a", [np.inf], "contains infinity"),
    ],
)
def test_other_values_than_in_fit(name, values, message):
    X = pd.DataFrame(
        {"a": [1], "b": ["x"], "c": pd.to_datetime(["2020"]), "d": pd.Categorical([7])}
    )
    reader, _ = read(X)
    with pytest.raises(ValueError, match=f"Column '{name}' of X {message}"):
        reader.read(Table.of(X.assign(**{name: values})))


def settle(X, y, weight):
    table = Table.of(X)
    reader = TableReader.of(table, "from_dtype", np.ones(len(table.data)))
    reader, matrix = reader.settle(reader.read(table), np.reshape(y, (len(y), -1)), weight)
    assert_array_equal(reader.read(table), matrix)
    return reader, matrix


@pytest.mark.parametrize("few_values", [False, True])
@pytest.mark.parametrize("n_targets", [1, 2])
def test_levels_are_numbered_by_their_rows_whatever_they_are_called(n_targets, few_values):
    rng = np.random.RandomState(0)
    names = np.array(list("abcdefgh"))
    codes, y = rng.randint(8, size=60), rng.normal(size=(60, n_targets))
    x = rng.normal(size=60)
    if few_values:  # as many rows of each level, and the same targets
        codes, y = np.arange(64) % 8, np.repeat([[0.0] * n_targets, [1.0] * n_targets], 32, axis=0)
        x = np.where(rng.uniform(size=64) < 0.3, NAN, rng.randint(9, size=64))
    for weight in (np.ones(len(x)), rng.choice([0.1, 0.3, 1.1], len(x))):
        expected = None
        for order in (np.arange(8), rng.permutation(8)):
            rows = rng.permutation(len(x))
            X = pd.DataFrame({"a": names[order][codes], "x": x})
            _, matrix = settle(X.iloc[rows], y[rows], weight[rows])
            matrix = matrix[np.argsort(rows)]
            expected = matrix if expected is None else expected
            assert_array_equal(matrix, expected)
            totals = [weight[matrix[:, 0] == code].sum() for code in range(8)]
            assert (np.diff(totals) < 1e-9).all()


def test_columns_without_a_value_are_left_out():
    X = pd.DataFrame(
        {
            "text": pd.Series([None] * 3, dtype="str"),
            "kind": pd.Categorical([None] * 3, categories=["x"]),
            "number": [NAN] * 3,
            "when": pd.to_datetime([None] * 3),
            "nothing": pd.Series([None] * 3, dtype=object),
            "no weight": [NAN, NAN, 1.0],
            "x": [1.0, 2.0, 3.0],
        }
    )
    reader, matrix = settle(X, np.zeros(3), np.array([1.0, 1.0, 0.0]))
    assert_array_equal(matrix, [[1], [2], [3]])
    # What they hold later is not looked at.
    later = dict(text="a", kind="x", number="b", when=[5], nothing=[[7]], x=4.0)
    assert_array_equal(reader.read(Table.of(X.iloc[:1].assign(**later))), [[4]])
    with pytest.raises(ValueError, match="X has no column with a value; all are NaN"):
        settle(X.drop(columns=["x", "no weight"]), np.zeros(3), np.ones(3))


@pytest.mark.parametrize("values", [pd.to_datetime(["2020"]), np.array(["2020"], "datetime64[ns]")])
def test_times_are_not_given_as_categorical(values):
    X = pd.DataFrame({"a": values}) if isinstance(values, pd.Index) else values[:, None]
    with pytest.raises(ValueError, match=r"Column ('a'|0) of X holds dates.*categorical_features"):
        read(X, [0])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.array([[10**400]], dtype=object), "Column 0 of X holds a number beyond float64"),
        (np.array([[3]], dtype="timedelta64[M]"), "Column 0 of X holds no days"),
    ],
)
def test_numbers_and_times_out_of_range(values, message):
    with pytest.raises(ValueError, match=message):
        read(values)


def test_levels_without_weight_are_unknown():
    reader, matrix = settle([["a"], ["b"], ["c"]], np.zeros(3), np.array([1.0, 0, 2]))
    assert_array_equal(matrix, [[1], [UNKNOWN], [0]])
    assert reader.n_categories.tolist() == [2]


def test_codes_are_those_of_scikit_learn_up_to_their_order():
    rng = np.random.RandomState(0)
    X = pd.DataFrame({"a": rng.choice(["x", "y", None], 50), "b": rng.choice([1.5, 2, NAN], 50)})
    _, matrix = read(X, ["a", "b"])
    theirs = OrdinalEncoder(encoded_missing_value=-1).fit_transform(X)
    for own, other in zip(matrix.T, theirs.T, strict=True):
        assert len(set(zip(np.nan_to_num(own, nan=-1), other, strict=True))) == 3

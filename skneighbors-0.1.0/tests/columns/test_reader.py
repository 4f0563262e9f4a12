"""Tables of any library to one matrix: numbers, codes of levels, days; gaps are NaN."""

import datetime
import warnings

import dateutil.tz
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from reading import UNREADABLE, kinds_of, learn, read

from skneighbors import ColumnWarning
from skneighbors._columns import Table, TableReader, unwrap
from skneighbors._columns.categories import Categories
from skneighbors._columns.column import CATEGORIES, DURATIONS, NUMBERS, TIMES
from skneighbors._columns.dates import Dates
from skneighbors._columns.numbers import Numbers
from skneighbors._columns.words import Words
from skneighbors._utils.arrays import check_stored

NAN, UNKNOWN = np.nan, -1
MOMENTS = [datetime.datetime(2020, 1, 1), None, datetime.datetime(1969, 12, 31, 12)]
DAYS = [18262.0, NAN, -0.5]


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
        "nothing": ([None] * 3, NUMBERS, [NAN] * 3),
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
    "nothing": (pa.nulls(2), NUMBERS, [NAN, NAN]),
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
        assert reader.kinds[0].name == kind
        assert matrix.dtype == np.float64
        assert_array_equal(matrix[:, 0], expected)


def test_arrays_and_lists_by_their_values():
    rows = [[1, "b", None, True], [2.5, "a", 3, False], [None, "b", NAN, True]]
    expected = [[1, 0, NAN, 0], [2.5, 1, 3, 1], [NAN, 0, NAN, 0]]
    floats = np.ma.array([[1.5, 2], [3, 4]], mask=[[0, 1], [0, 0]])
    days = np.array([["1970-01-02"], ["NaT"]], "M8[ns]")
    text, strings = [["b"], [NAN], ["a"]], np.dtypes.StringDType
    batch = pa.record_batch({"b": [1.5, 2], "a": ["x", None]})
    for X, matrix in (
        *((X, expected) for X in (rows, np.array(rows, dtype=object), pd.DataFrame(rows))),
        (np.array([["1"], ["2"]]), [[1], [2]]),
        (np.array([["12"], ["3"]], strings()), [[12], [3]]),
        (np.array(text, strings(na_object=NAN)), [[0], [NAN], [1]]),
        (np.array([["b"], [None], ["a"]], strings(na_object=None)), [[0], [NAN], [1]]),
        (np.array([[True], [False]]), [[0], [1]]),
        (days, [[1], [NAN]]),
        (unwrap(np.ma.array(days, mask=[[1], [0]])), [[NAN], [NAN]]),
        (unwrap(floats), [[1.5, NAN], [3, 4]]),
        (unwrap(batch), [[0, 1.5], [NAN, 2]]),
    ):
        assert_array_equal(read(X)[1], matrix)
    assert kinds_of([[True, 1.5], [False, 2.5]]) == [CATEGORIES, NUMBERS]
    assert kinds_of([[np.float32(1.5)], [2]]) == [NUMBERS]
    assert kinds_of([[MOMENTS[0], 1], [None, 2]]) == [TIMES, NUMBERS]


MIXED = {
    "a bool": [0.5, True, 1.5],
    "a bool of NumPy": [1, np.False_, 3],
    "text": [1, 2, "3"],
    "text beside bools": [np.True_, "7"],
    "a number beside bools": [True, 0.5],
    "a date": [1, datetime.date(2020, 1, 1)],
    "a number beside dates": [np.datetime64(0, "s"), 2],
    "text beside dates": [datetime.date(2020, 1, 1), "a"],
    "a bool beside dates": [pd.Timestamp(0), np.False_],
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


def frame(values, dtype=None):
    return pd.DataFrame({"a": pd.Series(values, dtype=dtype)})


YEARS = pd.Series(pd.to_datetime(["2020-01-01", "2021-01-01"]))
CUT = pd.cut(pd.Series([1.0, 5.0, 9.0, NAN]), 2)
# What fit gets, and others that hold the same.
SAME = {
    "categories that are dates": (
        frame(YEARS.astype("category")),
        frame(YEARS),
        frame(YEARS.dt.tz_localize("UTC").astype(object)),
        frame(YEARS.dt.date),
        frame(YEARS.to_list()),
    ),
    "categories that are intervals": (
        frame(CUT),
        frame(CUT.cat.reorder_categories(CUT.cat.categories[::-1])),
    ),
    "bools": (
        frame([True, False, None]),
        *(frame(v, object) for v in ([1, 0, NAN], [1.0, 0, None], [np.True_, np.False_, None])),
    ),
    "categories that are bools": (frame(pd.Categorical([1, 0, None])), frame([True, False, None])),
    "numbers": (frame([0, 1]), frame([False, True]), np.array([[False], [True]], dtype=object)),
    "without names": (
        pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=[0, 1]),
        np.array([[1.0, 2.0], [3.0, 4.0]]),
        pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=[5, 7]),
    ),
    "years as names": (pd.DataFrame([[1, 2]], columns=[2019, 2020]), pd.DataFrame([[1, 2]])),
    "no name": (
        pd.DataFrame([[1, 2]], columns=[NAN, 1.0]),
        pd.DataFrame([[1, 2]], columns=[float("nan"), 1.0]),
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_what_holds_the_same_reads_the_same(name):
    X, *others = SAME[name]
    reader, matrix = read(X)
    for other in others:
        assert_array_equal(reader.read(Table.of(other)), matrix)


def test_other_values_of_columns_read_before():
    X = pd.DataFrame({"a": [1.0], "b": ["x"], "c": pd.to_datetime(["2020-01-01"])})
    reader, _ = read(X)
    for missing in (None, NAN, pd.NaT):
        assert np.isnan(
            reader.read(Table.of(pd.DataFrame({name: [missing] for name in "abc"})))
        ).all()
    assert reader.read(Table.of(X.assign(b="z")))[0, 1] == UNKNOWN


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_wrapped_frames(frame):
    X = frame({"b": [1.5], "a": ["x"]})
    assert unwrap(nw.from_native(X)) is unwrap(X) is X
    for read_lazily in (unwrap, Table.of):
        with pytest.raises(TypeError, match="X is a LazyFrame: collect it first"):
            read_lazily(nw.from_native(pl.LazyFrame({"a": [1]})))


def test_categories_that_differ_by_case_or_spaces_are_named():
    reader, _ = read(pd.DataFrame({"a": ["yes", "no", "may be"] * 5, "b": [1, 2, 3] * 5}))
    for cell in ("YES", "yes ", "MAY BE"):
        with pytest.warns(ColumnWarning, match=f"'a' of X: cells such as '{cell}' count as missin"):
            X = reader.read(Table.of(pd.DataFrame({"a": ["no", cell], "b": [1, 2]})))
        assert_array_equal(X[:, 0], [1, -1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reader.read(Table.of(pd.DataFrame({"a": ["no", "new"], "b": [1, 2]})))


@pytest.mark.parametrize("cell", UNREADABLE.values(), ids=UNREADABLE)
def test_what_cells_should_not_hold(cell):
    day = datetime.date(2020, 1, 1)
    others = [[1, None, cell], ["a" * 10**6, cell, None], [True, cell, None], [day, None, cell]]
    for values in ([cell] * 3, [cell, 2.5, NAN], *others):
        column = pd.Series([None] * 3, dtype=object)
        for i, value in enumerate(values):
            column.iat[i] = value
        reader, _ = read(pd.DataFrame({"u" * 100: ["a", "b", "c"]}))
        X = pd.DataFrame({"u" * 100: column})
        for ask in (read, lambda X, reader=reader: reader.read(Table.of(X))):
            with pytest.raises(ValueError, match=r"Column 'uuu.*\.\.\. of X holds") as error:
                ask(X)
            assert len(str(error.value)) < 500


GIVEN = pd.DataFrame({"a": [3, 1, 3], "b": [3, 1, 3], "c": [0.5, NAN, 0.25]})
TUPLES = GIVEN[["a", "b"]].set_axis(pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")]), axis=1)


@pytest.mark.parametrize("columns", [[0, 2], ["a", "c"], [True, False, True], ("a", "c")])
def test_columns_given_as_categorical(columns):
    _, matrix = read(GIVEN, columns)
    assert_array_equal(matrix, [[0, 3, 0], [1, 1, NAN], [0, 3, 1]])
    if not isinstance(columns[0], str):
        assert_array_equal(read(GIVEN.to_numpy(), columns)[1], matrix)
    assert_array_equal(read(GIVEN, None)[1], GIVEN)
    assert kinds_of(TUPLES, [("a", "x")]) == [CATEGORIES, NUMBERS]


@pytest.mark.parametrize(
    ("X", "given", "message"),
    [
        (TUPLES, [7], r"names 7, which is no column .* Ints are indices"),
        (frame(["x", "y"]), None, "Column 'a' of X holds 'x', but categorical_features="),
        (GIVEN.assign(b=True), ["a"], "Column 'b' of X holds True, but"),
        (frame(YEARS), [0], "Column 'a' of X holds dates.*categorical_features"),
        (YEARS.to_numpy()[:, None], [0], "Column 0 of X holds dates.*categorical_features"),
        ([[10**400]], "from_dtype", "Column 0 of X holds a number beyond float64: 100"),
        (np.array([[3]], "m8[M]"), "from_dtype", "Column 0 of X holds no days"),
    ],
)
def test_what_cannot_be_read(X, given, message):
    with pytest.raises(ValueError, match=message):
        read(X, given)


FITTED = pd.DataFrame({"a": [1], "b": ["x"], "c": pd.to_datetime(["2020"])})
FITTED = FITTED.assign(d=pd.Categorical([7]), e=pd.Categorical(YEARS[:1]), f=True)
NUMBERED = pd.DataFrame([[1, 2]], columns=[2019, 2020])


@pytest.mark.parametrize(
    ("X", "other", "message"),
    [
        *(
            (FITTED, FITTED.assign(**{name: values}), f"Column '{name}' of X {message}")
            for name, values, message in [
                ("a", ["x"], "holds text, such as 'x'; in fit it held numbers"),
                ("a", pd.to_datetime(["2020"]), "holds dates, such as .*; in fit it held numbers"),
                ("a", [np.inf], "contains infinity"),
                ("b", [1], "holds .* such as 1, of type 'int'; in fit they were text"),
                ("c", [1], "holds numbers, such as 1; in fit it held dates"),
                ("c", ["2020-01-01"], "holds text, such as '2020-01-01'; in fit it held dates"),
                ("c", pd.to_timedelta([5]), "holds durations, such as .*; in fit it held dates"),
                ("d", ["7"], "holds .* such as '7', of type 'str'; in fit they were no text"),
                ("e", [5], "holds .* such as 5, .* in fit they were .* dates"),
                *(("f", [v], f"holds .* {v}, .* numbers but bools") for v in (0.5, 2, -1)),
            ]
        ),
        (NUMBERED, NUMBERED[[2020, 2019]], r"Columns of X must be .* is 2020, in fit .* 2019\."),
        (NUMBERED, NUMBERED.set_axis([2020, 2021], axis=1), "there is 2020, in fit .* was 2019"),
    ],
)
def test_other_values_than_in_fit(X, other, message):
    reader, _ = read(X)
    with pytest.raises(ValueError, match=message):
        reader.read(Table.of(other))


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
            _, matrix = learn(X.iloc[rows], y[rows], weight[rows])
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
    reader, matrix = learn(X, np.zeros(3), np.array([1.0, 1.0, 0.0]))
    assert_array_equal(matrix, [[1], [2], [3]])
    # What they hold later is not looked at.
    later = dict(text="a", kind="x", number="b", when=[5], nothing=[[7]], x=4.0)
    assert_array_equal(reader.read(Table.of(X.iloc[:1].assign(**later))), [[4]])
    with pytest.raises(ValueError, match="X has no column with a value; all are NaN"):
        learn(X.drop(columns=["x", "no weight"]), np.zeros(3), np.ones(3))


def test_levels_without_weight_are_unknown():
    reader, matrix = learn([["a"], ["b"], ["c"]], np.zeros(3), np.array([1.0, 0, 2]))
    assert_array_equal(matrix, [[1], [UNKNOWN], [0]])
    assert reader.kinds[0].describe() == "2 categories"


@pytest.mark.parametrize(
    "reader",
    [
        *([kind] for kind in (Numbers("roman"), Dates(parts=("year",)), Categories({"a": 1}))),
        *([kind] for kind in (Words({"a": 0}), Words({"a": 0}, ngrams=["abc"]), "numbers")),
        [Numbers(), Numbers()],
    ],
)
def test_what_no_file_should_hold(reader):
    with pytest.raises(ValueError, match=r"reading|parts|codes|n-grams|kinds is no|names columns"):
        check_stored(TableReader(reader, [0], ["a"]), {})
    with pytest.raises(ValueError, match="names columns that are not there"):
        check_stored(TableReader([Numbers()], [1], ["a"]), {})

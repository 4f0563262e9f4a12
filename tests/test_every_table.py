"""Tables of every kind: what holds the values, and in which order, changes no prediction.

``SKNEIGHBORS_EXAMPLES=20000 pytest tests/test_every_table.py`` tries more of them; `make test-all`
tries some.
"""

import datetime
import os
import zoneinfo
from dataclasses import dataclass, field
from types import FunctionType

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from skneighbors import NONARegressor
from skneighbors._columns import TrainingSamples

dask = pytest.importorskip("dask.dataframe")
MANY = settings(
    report_multiple_bugs=False,
    max_examples=int(os.environ.get("SKNEIGHBORS_EXAMPLES", "80")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:X (does not have valid|has) feature names"),
    pytest.mark.filterwarnings("ignore::skneighbors.ColumnWarning"),
]
ZONES = ["UTC", "Asia/Kolkata", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "Europe/Vienna"]
UTC = datetime.timezone.utc


@dataclass(frozen=True)
class Kind:
    """Kind of column: its values, and what can hold them, as functions of a list of them.

    Each of the libraries has some ways. Those of `fit`, if there are any, are pandas', and the only
    ones that say to `fit` what is meant. Values that may be no objects stand in no array or list.
    """

    values: st.SearchStrategy
    pandas: list
    polars: list
    arrow: list
    fit: list = field(default_factory=list)
    may_be_objects: bool = True


def of_pandas(dtype):
    # What NumPy's types without missing values become with some.
    with_missing = object if dtype == "bool" else "float64" if "int" in dtype else dtype
    return lambda values: pd.Series(values, dtype=with_missing if None in values else dtype)


def arrows_in_pandas(make):
    return lambda values: pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([make(values)])))


def objects(values):
    return pd.Series(values, dtype=object)


def category(values):
    return objects(values).astype("category")


def dictionary(values):
    return pa.array(values).dictionary_encode()


def of_any_zone(make):
    """Hold aware times in each of some zones in turn."""
    n = iter(range(10**9))
    return lambda values: make(values, ZONES[next(n) % len(ZONES)])


@of_any_zone
def pandas_in_zone(values, zone):
    return pd.Series(pd.DatetimeIndex(values, dtype="M8[us, UTC]").tz_convert(zone))


@of_any_zone
def polars_in_zone(values, zone):
    return pl.Series(values, dtype=pl.Datetime("us", "UTC")).dt.convert_time_zone(zone)


@of_any_zone
def arrow_in_zone(values, zone):
    return pa.array(values, pa.timestamp("us", zone))


@of_any_zone
def objects_in_zone(values, zone):
    zone = zoneinfo.ZoneInfo(zone)
    return objects([value and value.astimezone(zone) for value in values])


def kind(values, pandas, polars, arrow, **others):
    """Kind of column that some functions hold, or dtypes of each library."""
    own = [
        [way if isinstance(way, FunctionType) else of(way) for way in ways]
        for ways, of in (
            (pandas, of_pandas),
            (polars, lambda dtype: lambda values: pl.Series(values, dtype=dtype)),
            (arrow, lambda dtype: lambda values: pa.array(values, dtype)),
        )
    ]
    own[0] += map(arrows_in_pandas, own[2])
    return Kind(values, *own, **others)


def integers(bits, signed=True):
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    name = f"{'Int' if signed else 'UInt'}{bits}"
    of_pandas = [objects, name.lower(), name]
    return kind(
        st.integers(low, high), of_pandas, [getattr(pl, name)], [getattr(pa, name.lower())()]
    )


def floats(bits, arrow):
    values = st.floats(allow_nan=False, allow_infinity=False, width=bits)
    of_pandas = [objects, f"float{bits}", f"Float{bits}"]
    return kind(values, of_pandas, [getattr(pl, f"Float{bits}")], [arrow])


DAY = datetime.timedelta(1)
MOMENTS = st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2200, 1, 1))
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
# Text of digits alone is read as numbers, unless it is declared as categories.
LEVELS = st.sampled_from(["a", "b", "B", "", "7 b", "nan", "ä", "long " * 20])
SHORT = st.sampled_from([0.1, 0.2, 0.5, -7.25, 1.0, 3.0, 1e6])
OF_TEXT = [objects, "str", "string"]
KINDS = {f"int{bits}": integers(bits) for bits in (8, 16, 32, 64)}
KINDS |= {f"uint{bits}": integers(bits, signed=False) for bits in (8, 16, 32, 64)}
KINDS |= {
    "float32": floats(32, pa.float32()),
    "float64": floats(64, pa.float64()),
    "bools": kind(st.booleans(), [objects, "bool", "boolean"], [pl.Boolean], [pa.bool_()]),
    "text": kind(TEXTS, OF_TEXT, [pl.String], [pa.string(), pa.large_string(), pa.string_view()]),
    "categories": kind(
        LEVELS, [*OF_TEXT, category], [pl.String, pl.Categorical], [pa.string(), dictionary]
    ),
    "categories of digits": kind(
        st.sampled_from(["7", "08", "a"]),
        [*OF_TEXT, category],
        [pl.String, pl.Categorical],
        [pa.string(), dictionary],
        fit=[category, arrows_in_pandas(dictionary)],
    ),
    "numbered categories": kind(
        st.integers(-3, 9),
        [objects, category, "int16", "Int32"],
        [pl.Int64, pl.Decimal(9, 1)],
        [dictionary, pa.int8()],
        fit=[category, arrows_in_pandas(dictionary)],
    ),
    "measured categories": kind(
        SHORT,
        [objects, "float32", "Float64"],
        [pl.Float32, pl.Float64],
        [pa.float32(), dictionary],
        fit=[category, lambda values: pd.Series(values, dtype="float32").astype("category")],
    ),
    "days": kind(
        MOMENTS.map(datetime.datetime.date),
        [objects, "M8[s]", "M8[ns]"],
        [pl.Date, lambda values: pl.Series(values, dtype=pl.Date).cast(pl.Datetime)],
        [pa.date32(), pa.date64()],
    ),
    "moments": kind(
        MOMENTS,
        [objects, "M8[us]", "M8[ns]"],
        [pl.Datetime("us"), pl.Datetime("ns")],
        [pa.timestamp("us"), pa.timestamp("ns")],
    ),
    "moments in zones": kind(
        MOMENTS.map(lambda moment: moment.replace(tzinfo=UTC)),
        [objects_in_zone, pandas_in_zone, pandas_in_zone],
        [polars_in_zone],
        [arrow_in_zone],
    ),
    "durations": kind(
        st.timedeltas(-(10**4) * DAY, 10**4 * DAY),
        ["m8[us]", "m8[ns]"],
        [pl.Duration("us")],
        [pa.duration("us"), pa.duration("ns")],
        may_be_objects=False,
    ),
    "times of day": kind(
        st.times(), [], [pl.Time], [pa.time64("us"), pa.time64("ns")], may_be_objects=False
    ),
    "decimals": kind(
        st.decimals(-(10**6), 10**6, places=3, allow_nan=False),
        ["float64"],
        [pl.Decimal(12, 3)],
        [pa.decimal128(12, 3), pa.decimal256(40, 3)],
        may_be_objects=False,
    ),
    "gaps": kind(
        st.none(),
        [objects, "float64", "M8[ns]", "str"],
        [pl.Null, pl.Int8, pl.String],
        [pa.null(), pa.bool_()],
    ),
}
NOT_IN_DASK = (np.dtype(object), pd.ArrowDtype(pa.string_view()))
PLAIN = ["array", "lists"]
LIBRARIES = ["pandas", "polars", "arrow", "narwhals", "dask", *PLAIN]


@dataclass
class Example:
    """Columns by their names: kinds, and values of the rows to fit and to ask for."""

    kinds: dict
    rows: dict
    queries: dict
    draw: object

    @property
    def libraries(self):
        """What can hold all columns."""
        may_be = all(kind.may_be_objects for kind in self.kinds.values())
        return LIBRARIES if may_be else [own for own in LIBRARIES if own not in PLAIN]

    def hold(self, columns, library, to_fit=False, names=None):
        """Columns as a table of a library, each in a way that is drawn."""
        names = names or list(columns)
        said = any(self.kinds[name].fit for name in names)
        if to_fit and said and library != "narwhals":
            library = "pandas"
        if library == "array":
            table = np.empty((len(columns[names[0]]), len(names)), dtype=object)
            for j, name in enumerate(names):
                table[:, j] = columns[name]
            return table
        if library == "lists":
            return [list(row) for row in zip(*(columns[name] for name in names), strict=True)]
        of = "pandas" if library in ("narwhals", "dask") else library
        held = {}
        for name in names:
            own = self.kinds[name]
            ways = getattr(own, of)
            if library == "dask":  # which makes text of objects, and knows no views
                ways = [way for way in ways if way(columns[name]).dtype not in NOT_IN_DASK]
            ways = own.fit if to_fit and own.fit else ways
            held[name] = self.draw(st.sampled_from(ways))(columns[name])
        if of == "polars":
            return pl.DataFrame(held)
        if of == "arrow":
            return pa.table(held)
        table = pd.DataFrame(held)
        if library == "narwhals":
            return nw.from_native(table)
        return dask.from_pandas(table, npartitions=1) if library == "dask" else table


def columns_of(draw, kinds, n_rows, constant=()):
    columns = {}
    for name, own in kinds.items():
        value = st.one_of(own.values, own.values, own.values, st.none())
        column = draw(st.lists(value, min_size=n_rows, max_size=n_rows))
        columns[name] = column[:1] * n_rows if name in constant else column
    return columns


@st.composite
def examples(draw):
    """Draw columns, beside one of plain numbers."""
    chosen = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=5))
    kinds = {f"{'zyxwv'[i]} {name}": KINDS[name] for i, name in enumerate(chosen)}
    kinds["n"] = kind(st.integers(0, 99), ["float"], [pl.Int8], [pa.int8()])
    constant = draw(st.sets(st.sampled_from(sorted(kinds)), max_size=1))
    rows = columns_of(draw, kinds, draw(st.integers(3, 8)), constant)
    rows["n"] = list(range(len(rows["n"])))
    return Example(kinds, rows, columns_of(draw, kinds, draw(st.integers(1, 4))), draw)


def make_model():
    return NONARegressor(
        max_iter=1,
        n_estimators=1,
        hidden_layer_sizes=2,
        early_stopping=False,
        blend=None,
        random_state=0,
    )


def targets(example):
    return np.cos(7.0 * np.arange(len(example.rows["n"])))


@MANY
@given(examples())
def test_what_holds_the_values_changes_nothing(example):
    y, library = targets(example), example.draw(st.sampled_from(example.libraries))
    model = make_model().fit(example.hold(example.rows, library, to_fit=True), y)
    expected = model.predict(example.hold(example.queries, example.libraries[-1]))
    assert np.isfinite(expected).all()
    for other in example.libraries:
        assert_array_equal(model.predict(example.hold(example.queries, other)), expected, other)
    last = {name: column[-1:] for name, column in example.queries.items()}
    alone = model.predict(example.hold(last, example.draw(st.sampled_from(example.libraries))))
    assert_allclose(alone, expected[-1:], rtol=1e-7, atol=1e-9)
    # What is learned is the same, too, and in another order of the columns.
    frames = [own for own in LIBRARIES if own not in PLAIN]
    names = example.draw(st.permutations(list(example.rows)))
    other = example.hold(example.rows, example.draw(st.sampled_from(frames)), True, names)
    samples = TrainingSamples.check(make_model(), other, y, None, None, None, (None,) * 3)
    if library in frames:
        assert_array_equal(samples.rows.X, model._model.matrix)
        learned = [
            [kind.describe() for kind in reader.kinds]
            for reader in (samples.table.reader, model._model.reader)
        ]
        assert learned[0] == learned[1]
        if names != list(example.rows):
            with pytest.raises(ValueError, match="feature names should match"):
                model.predict(other)

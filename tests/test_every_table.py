"""Tables of every kind: what holds the values, and in which order, changes no prediction.

``SKNEIGHBORS_EXAMPLES=20000 pytest tests/test_every_table.py`` tries more of them; `make test-all`
tries some.
"""

import datetime
import enum
import os
import zoneinfo
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

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


def numpys(dtype, with_gaps="float64"):
    return lambda values: pd.Series(values, dtype=with_gaps if None in values else dtype)


def of_pandas(dtype):
    return lambda values: pd.Series(values, dtype=dtype)


def of_polars(dtype):
    return lambda values: pl.Series(values, dtype=dtype)


def of_arrow(dtype):
    return lambda values: pa.array(values, dtype)


def arrows_in_pandas(make):
    return lambda values: pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([make(values)])))


def objects(values):
    return pd.Series(values, dtype=object)


def category(values):
    return pd.Series(values, dtype=object).astype("category")


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
    pandas = [*pandas, *map(arrows_in_pandas, arrow)]
    return Kind(values, pandas, polars, arrow, **others)


def integers(bits, signed=True):
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    name = f"{'Int' if signed else 'UInt'}{bits}"
    return kind(
        st.integers(low, high),
        [objects, numpys(name.lower()), of_pandas(name)],
        [of_polars(getattr(pl, name))],
        [of_arrow(getattr(pa, name.lower())())],
    )


def floats(bits, arrow):
    return kind(
        st.floats(allow_nan=False, allow_infinity=False, width=bits),
        [objects, of_pandas(f"float{bits}"), of_pandas(f"Float{bits}")],
        [of_polars(getattr(pl, f"Float{bits}"))],
        [of_arrow(arrow)],
    )


MOMENTS = st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2200, 1, 1))
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
LEVELS = st.sampled_from(["a", "b", "B", "", "7", "nan", "ä", "long " * 20])
SHORT = st.sampled_from([0.1, 0.2, 0.5, -7.25, 1.0, 3.0, 1e6])
OF_TEXT = [objects, of_pandas("str"), of_pandas("string")]
KINDS = {f"int{bits}": integers(bits) for bits in (8, 16, 32, 64)}
KINDS |= {f"uint{bits}": integers(bits, signed=False) for bits in (8, 16, 32, 64)}
KINDS |= {"float32": floats(32, pa.float32()), "float64": floats(64, pa.float64())}
KINDS |= {
    "bools": kind(
        st.booleans(),
        [objects, numpys("bool", object), of_pandas("boolean")],
        [of_polars(pl.Boolean)],
        [of_arrow(pa.bool_())],
    ),
    "text": kind(
        TEXTS,
        OF_TEXT,
        [of_polars(pl.String)],
        [of_arrow(pa.string()), of_arrow(pa.large_string()), of_arrow(pa.string_view())],
    ),
    "categories": kind(
        LEVELS,
        [*OF_TEXT, category],
        [of_polars(pl.String), of_polars(pl.Categorical)],
        [of_arrow(pa.string()), dictionary],
    ),
    "numbered categories": kind(
        st.integers(-3, 9),
        [objects, category, numpys("int16"), of_pandas("Int32")],
        [of_polars(pl.Int64), of_polars(pl.Decimal(9, 1))],
        [dictionary, of_arrow(pa.int8())],
        fit=[category, arrows_in_pandas(dictionary)],
    ),
    "measured categories": kind(
        SHORT,
        [objects, of_pandas("float32"), of_pandas("Float64")],
        [of_polars(pl.Float32), of_polars(pl.Float64)],
        [of_arrow(pa.float32()), dictionary],
        fit=[category, lambda values: pd.Series(values, dtype="float32").astype("category")],
    ),
    "days": kind(
        MOMENTS.map(datetime.datetime.date),
        [objects, of_pandas("M8[s]"), of_pandas("M8[ns]")],
        [of_polars(pl.Date), lambda values: pl.Series(values, dtype=pl.Date).cast(pl.Datetime)],
        [of_arrow(pa.date32()), of_arrow(pa.date64())],
    ),
    "moments": kind(
        MOMENTS,
        [objects, of_pandas("M8[us]"), of_pandas("M8[ns]")],
        [of_polars(pl.Datetime("us")), of_polars(pl.Datetime("ns"))],
        [of_arrow(pa.timestamp("us")), of_arrow(pa.timestamp("ns"))],
    ),
    "moments in zones": kind(
        MOMENTS.map(lambda moment: moment.replace(tzinfo=UTC)),
        [objects_in_zone, pandas_in_zone, pandas_in_zone],
        [polars_in_zone],
        [arrow_in_zone],
    ),
    "durations": kind(
        st.timedeltas(datetime.timedelta(-(10**4)), datetime.timedelta(10**4)),
        [of_pandas("m8[us]"), of_pandas("m8[ns]")],
        [of_polars(pl.Duration("us"))],
        [of_arrow(pa.duration("us")), of_arrow(pa.duration("ns"))],
        may_be_objects=False,
    ),
    "times of day": kind(
        st.times(),
        [],
        [of_polars(pl.Time)],
        [of_arrow(pa.time64("us")), of_arrow(pa.time64("ns"))],
        may_be_objects=False,
    ),
    "decimals": kind(
        st.decimals(-(10**6), 10**6, places=3, allow_nan=False),
        [of_pandas("float64")],
        [of_polars(pl.Decimal(12, 3))],
        [of_arrow(pa.decimal128(12, 3)), of_arrow(pa.decimal256(40, 3))],
        may_be_objects=False,
    ),
    "gaps": kind(
        st.none(),
        [objects, of_pandas("float64"), of_pandas("M8[ns]"), of_pandas("str")],
        [of_polars(pl.Null), of_polars(pl.Int8), of_polars(pl.String)],
        [of_arrow(pa.null()), of_arrow(pa.bool_())],
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
    kinds["n"] = kind(
        st.integers(0, 99), [of_pandas("float")], [of_polars(pl.Int8)], [of_arrow(pa.int8())]
    )
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
        assert samples.reader.n_categories.tolist() == model._model.reader.n_categories.tolist()
        if names != list(example.rows):
            with pytest.raises(ValueError, match="feature names should match"):
                model.predict(other)


OTHERS = [
    [1.0],
    {},
    {"a": [1]},
    np.ones(2),
    b"a",
    1j,
    datetime.time(1),
    datetime.timedelta(1),
    Decimal(1),
    Fraction(1, 2),
    enum.Enum("Color", ["RED"], type=str).RED,
    pd.Interval(0, 1),
    pd.Period("2020-05"),
    object(),
]
SORTS = {
    "numbers": [2, 0.5],
    "text": ["a", "7"],
    "bools": [True, np.False_],
    "dates": [datetime.date(2020, 1, 1), pd.Timestamp(0), np.datetime64(0, "s")],
}
OF_SORT = {"text": "text", "categories": "text", "bools": "bools"}
OF_SORT |= dict.fromkeys(["days", "moments", "moments in zones"], "dates")


@MANY
@given(examples(), st.data())
def test_what_cannot_be_read_is_an_error_that_names_the_column(example, data):
    name = data.draw(st.sampled_from([name for name in example.kinds if name != "n"] or ["n"]))
    own = next((key for key, kind in KINDS.items() if kind is example.kinds[name]), "int8")
    sort = OF_SORT.get(own, "numbers")
    foreign = [cell for other, cells in SORTS.items() if other != sort for cell in cells]
    some = next((value for value in example.rows[name] if value is not None), None)
    cells = OTHERS if some is None else OTHERS + foreign
    cell = data.draw(st.sampled_from(range(len(cells))).map(cells.__getitem__))
    libraries = set(example.libraries) & {"pandas", "narwhals", *PLAIN}
    library = data.draw(st.sampled_from(sorted(libraries)))

    def spoil(columns):
        column = [some, *columns[name][1:]]
        column[data.draw(st.integers(1, len(column) - 1)) if len(column) > 1 else 0] = cell
        if library in PLAIN:
            return Example.hold(example, columns | {name: column}, library)
        table = nw.to_native(example.hold(columns, library, to_fit=True), pass_through=True).copy()
        table[name] = pd.Series(column, dtype=object)
        return nw.from_native(table) if library == "narwhals" else table

    def refuse(ask, table):
        shown = list(example.rows).index(name) if library in PLAIN else repr(name)
        with pytest.raises(ValueError, match=f"^Column {shown} of X holds") as error:
            ask(table)
        assert len(str(error.value)) < 400

    refuse(lambda table: make_model().fit(table, targets(example)), spoil(example.rows))
    model = make_model().fit(example.hold(example.rows, "pandas", to_fit=True), targets(example))
    if some is not None:
        refuse(model.predict, spoil({key: column[:2] for key, column in example.rows.items()}))

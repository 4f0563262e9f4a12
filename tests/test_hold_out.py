"""Rows held out at random, by values and by order: what HoldOutDisplay says of made tables."""

import sys

import matplotlib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import r2_score, root_mean_squared_error
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsRegressor

from skneighbors import ColumnWarning
from skneighbors.inspection import HoldOutDisplay

matplotlib.use("Agg")
import matplotlib.pyplot as plt

TREES, NEIGHBORS = 0, 1


@pytest.fixture(autouse=True)
def no_figures_left():
    yield
    plt.close("all")


def show(X, y, columns=None, **options):
    return HoldOutDisplay.from_data(X, y, columns, **{"random_state": 0, **options})


def r2_of(display, column, held_out):
    """R2 at random and held out so, each of the trees and the neighbours."""
    i = list(zip(display.columns, display.held_out, strict=True)).index((column, held_out))
    return display.r2_random_[i], display.r2_[i]


def draw_customers(n_customers=60, n_rows=16, seed=0):
    """Rows of customers, whom their age and income give away, and a target of the customer's."""
    rng = np.random.default_rng(seed)
    customer = rng.permutation(np.repeat(np.arange(n_customers), n_rows))
    traits = rng.normal(size=(n_customers, 2))[customer]
    X = pd.DataFrame({"age": traits[:, 0], "amount": rng.normal(size=len(customer))})
    X["income"] = traits[:, 1]
    y = rng.normal(size=n_customers)[customer] + 0.3 * rng.normal(size=len(customer))
    return X, y + 0.3 * X["amount"].to_numpy(), customer


def draw_sales(n_days=200, drift=10.0, seed=0):
    """Four rows of each day, whose target drifts with the day."""
    rng = np.random.default_rng(seed)
    day = np.repeat(np.arange(n_days), 4)
    X = pd.DataFrame({"date": pd.Timestamp("2024-01-01") + pd.to_timedelta(day, unit="D")})
    X["size"] = rng.normal(size=len(day))
    y = drift * day / n_days + X["size"] + 0.3 * rng.normal(size=len(day))
    order = rng.permutation(len(day))
    return X.iloc[order], y.to_numpy()[order]


def test_new_customers_are_worse_than_rows_at_random():
    X, y, customer = draw_customers()
    random, new = r2_of(show(X, y, {"customer": customer}), "customer", "new values")
    assert (random > 0.5).all()
    assert (new < 0.2).all()


def test_later_rows_are_worse_where_the_target_drifts():
    X, y = draw_sales()
    shown = show(X, y)
    assert shown.columns == ["date", "date"]
    random, later = r2_of(shown, "date", "last fifth")
    assert (later < random - 0.2).all()
    random, new = r2_of(shown, "date", "new values")
    assert (new > random - 0.1).all()  # the days before and after are known
    X, y = draw_sales(drift=0.0)
    random, later = r2_of(show(X, y), "date", "last fifth")
    assert (later > random - 0.1).all()


def test_nested_groups_are_both_shown():
    rng = np.random.default_rng(0)
    store = rng.permutation(np.repeat(np.arange(80), 10))
    city = store % 16
    traits = np.column_stack([rng.normal(size=(16, 2))[city], rng.normal(size=(80, 2))[store]])
    y = rng.normal(size=16)[city] + rng.normal(size=80)[store] + 0.2 * rng.normal(size=800)
    shown = show(traits, y, {"store": store, "city": city})
    random, new_store = r2_of(shown, "store", "new values")
    _, new_city = r2_of(shown, "city", "new values")
    assert (random > 0.8).all()
    assert (new_store < random - 0.2).all()
    assert (new_city < new_store - 0.1).all()  # of which other stores are not known either


def test_columns_that_do_not_matter_open_no_gap():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=1500), "b": rng.normal(size=1500)})
    y = X["a"] + X["b"] ** 2 + 0.1 * rng.normal(size=1500)
    X["shop"] = rng.choice([f"shop {i}" for i in range(60)], 1500)
    X["day"] = rng.integers(0, 100, 1500)
    shown = show(X, y)
    assert shown.columns == ["shop", "day", "day"]
    np.testing.assert_allclose(shown.rmse / shown.rmse_random, 1, atol=0.1)


def test_an_ordinary_category_opens_a_gap_that_goes_without_the_column():
    """How the notes tell what a column alone says from rows that belong together."""
    rng = np.random.default_rng(0)
    brand = rng.permutation(np.arange(2000) % 100)
    X = pd.DataFrame({"size": rng.normal(size=2000), "brand": brand})
    y = rng.normal(size=100)[brand] + 0.5 * X["size"] + 0.2 * rng.normal(size=2000)
    options = {"categorical_features": ["brand"]}
    random, new = r2_of(show(X, y, ["brand"], **options), "brand", "new values")
    assert (new < random - 0.4).all()
    shown = show(X[["size"]], y, {"brand": brand})
    random, new = r2_of(shown, "brand", "new values")
    assert (new > random - 0.1).all()
    # Customers, whom other columns give away, keep theirs.
    X, y, customer = draw_customers()
    for own in (X, X.assign(customer=customer)):
        random, new = r2_of(show(own, y, {"customer": customer}), "customer", "new values")
        assert (new < random - 0.4).all()


def test_errors_are_those_of_fits_without_the_rows():
    """The last fifth and its reference, computed anew with scikit-learn alone."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)).round(1)
    X[:, 1] = rng.permutation(np.arange(200) // 4)
    y = X @ [1.0, 0.02, -1.0] + 0.1 * rng.normal(size=200)
    shown = show(X, y, [1])
    low, center, high = np.quantile(X, [0.25, 0.5, 0.75], 0, method="inverted_cdf")
    Z = (X - center) / (high - low)
    Z = Z / np.sqrt(1 + (Z / 3) ** 2)
    later = X[:, 1] >= 40

    def predict(test):
        trees = HistGradientBoostingRegressor(
            learning_rate=0.15, min_samples_leaf=5, random_state=0
        )
        neighbors = KNeighborsRegressor(10, weights="distance")
        return np.stack(
            [
                trees.fit(X[~test], y[~test]).predict(X[test]),
                neighbors.fit(Z[~test], y[~test]).predict(Z[test]),
            ]
        )

    i = shown.held_out.index("last fifth")
    assert (shown.n_values[i], shown.n_samples[i]) == (50, 40)
    predicted = predict(later)
    for k in (TREES, NEIGHBORS):
        error = root_mean_squared_error(y[later], predicted[k])
        assert shown.rmse[i, k] == pytest.approx(error, rel=1e-6)
        assert shown.r2_[i, k] == pytest.approx(r2_score(y[later], predicted[k]), rel=1e-6)
    assert shown.y_std[i] == pytest.approx(y[later].std())
    # At random, rows are held out in other folds each time: about the same error.
    folds = KFold(5, shuffle=True, random_state=1).split(X)
    at_random = np.empty((2, 200))
    for _, rows in folds:
        at_random[:, rows] = predict(np.isin(np.arange(200), rows))
    for k in (TREES, NEIGHBORS):
        error = root_mean_squared_error(y[later], at_random[k, later])
        assert shown.rmse_random[i, k] == pytest.approx(error, rel=0.3)


def test_frame_holds_what_is_drawn():
    X, y = draw_sales(n_days=50, drift=0.0)
    shown = show(X, y)
    frame = shown.to_frame()
    assert list(frame) == [
        "column",
        "held_out",
        "n_values",
        "n_samples",
        "model",
        "rmse_random",
        "rmse",
        "r2_random",
        "r2",
    ]
    own = frame[(frame["held_out"] == "last fifth") & (frame["model"] == "neighbors")].iloc[0]
    assert (own["column"], own["n_values"], own["n_samples"]) == ("date", 50, 40)
    assert own["r2"] == pytest.approx(shown.points_[NEIGHBORS].get_offsets()[1, 0])
    assert own["r2_random"] == pytest.approx(shown.random_points_[NEIGHBORS].get_offsets()[1, 0])
    names = [label.get_text() for label in shown.ax_.get_yticklabels()]
    assert names == ["date: new values (groups)", "date: last fifth (order)"]


@pytest.mark.parametrize("kind", ["polars", "array", "lists"])
def test_the_library_of_the_table_does_not_matter(kind):
    X, y, customer = draw_customers(n_customers=15)
    X["shop"] = pd.Series(list("abcdef") * 40)
    expected = show(X, y, {"customer": customer, "shop": X["shop"]})
    shop = X["shop"].tolist()
    if kind == "polars":
        table, shop = pl.from_pandas(X), pl.Series(shop)
    else:
        table = X.to_numpy() if kind == "array" else X.to_numpy().tolist()
    shown = show(table, pl.Series(y), {"customer": customer.tolist(), "shop": shop})
    assert shown.columns == expected.columns == ["customer", "customer", "shop"]
    np.testing.assert_array_equal(shown.rmse, expected.rmse)
    np.testing.assert_array_equal(shown.rmse_random, expected.rmse_random)


def test_a_column_as_an_array_is_held_out_alike():
    X, y = draw_sales(n_days=50)
    by_name, by_position = show(X, y, ["date"]), show(X, y, [0])
    by_array = show(X, y, {"date": X["date"].tolist()})
    for other in (by_position, by_array):
        assert other.columns == by_name.columns
        np.testing.assert_array_equal(other.rmse, by_name.rmse)
    in_tokyo = X["date"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")
    np.testing.assert_array_equal(show(X, y, {"date": in_tokyo}).rmse, by_name.rmse)


def test_a_seed_repeats_the_draw():
    X, y, customer = draw_customers(n_customers=15)
    first, again, other = (
        show(X, y, {"customer": customer}, random_state=seed) for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first.rmse, again.rmse)
    assert (first.rmse != other.rmse).any()


def test_rows_with_a_gap_are_never_held_out_by_the_column():
    X, y, customer = draw_customers(n_customers=15)
    rng = np.random.default_rng(0)
    column = np.where(np.arange(240) % 3 == 0, np.nan, customer)
    shown = show(X, y, {"customer": column})
    is_present = ~np.isnan(column)
    assert shown.n_samples[0] == is_present.sum() == 160
    np.testing.assert_allclose(shown.y_std[0], y[is_present].std())
    assert abs(shown.n_samples[1] - 160 / 5) < 8
    # They are trained on: a customer is known by the rows that do not name her.
    column = np.where(rng.random(240) < 0.2, customer, np.nan)
    random, new = r2_of(show(X, y, {"customer": column}), "customer", "new values")
    assert (new > random - 0.2).all()


def test_rows_of_one_time_stay_together():
    X = np.random.default_rng(0).normal(size=(100, 2))
    year = np.repeat([2020, 2021, 2022, 2023], [40, 25, 5, 30])
    shown = show(X, X[:, 0], {"year": year})
    assert shown.n_samples[shown.held_out.index("last fifth")] == 30
    shown = show(X, X[:, 0], {"year": np.repeat([2020, 2021], [10, 90])})
    assert shown.n_samples[shown.held_out.index("last fifth")] == 90


def test_numbers_that_all_differ_are_held_out_by_order_alone():
    X = np.random.default_rng(0).normal(size=(60, 2))
    assert show(X, X[:, 0], [0]).held_out == ["last fifth"]


@pytest.mark.filterwarnings("ignore::skneighbors.ColumnWarning")  # of 'name'
def test_columns_by_default():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "price": rng.normal(size=100),
            "id": np.arange(100),
            "name": [f"row {i}" for i in range(100)],
            "is new": rng.integers(0, 2, 100).astype(bool),
            "nothing": [None] * 100,
            "badge": ["a", "b", "c", "d", "e"] + [None] * 95,
            "rooms": rng.integers(1, 7, 100).astype(float),
            "city": rng.choice(list("abcdef"), 100),
            "sold": pd.date_range("2025-01-01", periods=100),
        }
    )
    shown = show(X, rng.normal(size=100))
    found = list(zip(shown.columns, shown.held_out, strict=True))
    assert found == [
        ("rooms", "new values"),
        ("rooms", "last fifth"),
        ("city", "new values"),
        ("sold", "last fifth"),
    ]


def test_many_columns_are_cut_with_a_warning():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"c{i}": rng.integers(0, 5 + i, 60) for i in range(9)})
    X["day"] = pd.date_range("2025-01-01", periods=30).repeat(2)
    with pytest.warns(UserWarning, match=r"10 columns of X can be held out; .* 8 in all"):
        shown = show(X, rng.normal(size=60))
    assert list(dict.fromkeys(shown.columns)) == [*(f"c{i}" for i in range(2, 9)), "day"]


def test_few_rows_and_unlike_levels_will_do():
    X = pd.DataFrame({"a": list("aabbccddeeffgg"), "b": [1.0, None] * 7, "c": [None] * 14})
    shown = show(X, np.arange(14.0))
    assert shown.columns == ["a"]
    assert np.isfinite(shown.rmse).all()
    by_name = pd.DataFrame({"a": [f"level {i // 2}" for i in range(1000)]})
    assert np.isfinite(show(by_name, np.arange(1000.0)).rmse).all()


def test_one_of_several_targets():
    X, y, customer = draw_customers(n_customers=15)
    Y = np.column_stack([np.zeros(240), y])
    np.testing.assert_array_equal(
        show(X, Y, {"customer": customer}, target=1).rmse, show(X, y, {"customer": customer}).rmse
    )
    with pytest.raises(ValueError, match=r"target must be an int from 0 to 1; got 2"):
        show(X, Y, {"customer": customer}, target=2)


def test_the_unit_of_the_target_does_not_matter():
    X, y, customer = draw_customers(n_customers=15)
    shown = show(X, y, {"customer": customer})
    larger = show(X, 1e60 * y + 1e60, {"customer": customer})
    np.testing.assert_allclose(larger.r2_, shown.r2_, atol=1e-6)
    np.testing.assert_allclose(larger.rmse, 1e60 * shown.rmse, rtol=1e-5)


def test_what_is_far_below_zero_is_drawn_at_the_floor():
    shown = HoldOutDisplay(
        columns=["day"],
        held_out=["last fifth"],
        n_values=np.array([9]),
        n_samples=np.array([20]),
        y_std=np.array([1.0]),
        rmse_random=np.array([[0.5, 0.5]]),
        rmse=np.array([[3.0, 0.6]]),
    ).plot()
    np.testing.assert_allclose(shown.r2_, [[-8, 0.64]])
    assert [points.get_offsets()[0, 0] for points in shown.points_] == [-1, pytest.approx(0.64)]
    assert [text.get_text() for text in shown.ax_.texts] == ["-8"]


def test_dates_as_text_are_doubted_and_dates_are_not():
    X, y = draw_sales(n_days=30)
    text = X["date"].dt.strftime("%Y-%m-%d")
    with pytest.warns(ColumnWarning, match="Column 'date' of X holds dates or times as") as caught:
        shown = show(X.assign(date=text), y)
    assert (len(caught), caught[0].filename) == (1, __file__)
    assert shown.held_out == ["new values"]
    with pytest.warns(ColumnWarning, match=r"columns\['day'\] holds dates .* no last") as caught:
        shown = show(X[["size"]], y, {"day": text.to_list()})
    assert (len(caught), caught[0].filename) == (1, __file__)
    assert shown.held_out == ["new values"]
    # Numbers as text, which name customers, say nothing less than numbers.
    show(X[["size"]], y, {"customer": [f"{i % 20}" for i in range(len(X))]})
    assert show(X[["size"]], y, {"day": pd.to_datetime(text)}).held_out[1] == "last fifth"


def test_draws_again_and_on_axes_given():
    X, y = draw_sales(n_days=30)
    figure, axes = plt.subplots(1, 2)
    shown = show(X, y, ax=axes[1])
    assert shown.ax_ is axes[1]
    assert shown.figure_ is figure
    assert shown.plot(point_kwargs={"s": 9}).figure_ is not figure
    assert shown.points_[0].get_sizes() == [9]
    shown.figure_.canvas.draw()


WORDS = pd.DataFrame({"x": np.arange(20.0), "same": ["a"] * 20, "empty": [None] * 20})
WORDS["name"] = [f"row {i}" for i in range(20)]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["gone"], r"columns names 'gone', which is no column of X: give names, or positions"),
        ([4], r"columns names 4, which is no column of X: give names, or positions from 0 to 3"),
        ([True], r"columns names True, which is no column"),
        (["x", 0], r"columns must name each column once"),
        (["same"], r"Column 'same' of X has one value alone: there is nothing to hold out"),
        (["empty"], r"Column 'empty' of X has no value: there is nothing to hold out"),
        (["name"], r"Column 'name' of X has another category in each row.*pandas\.to_datetime"),
        ([], r"columns is empty"),
        (None, r"X has no column of dates, categories or whole numbers with 5 values or more"),
        ({"who": np.arange(19)}, r"columns\['who'\] must have one entry for each of 20 .*\(19,\)"),
        (
            {"who": np.zeros((20, 2))},
            r"columns\['who'\] must have one entry for each of 20 .*\(20, 2\)",
        ),
        ({"who": 3}, r"columns\['who'\] must have one entry for each of 20 .*\(\)"),
        ({"who": [1, "a"] * 10}, r"^columns\['who'\] holds .*numbers such as 1"),
        ({"who": pl.Series([[1]] * 20)}, r"^columns\['who'\] holds \[1\], of type 'list'"),
        ({"who": np.full(20, np.inf)}, r"^columns\['who'\] contains infinity"),
        ({"who": np.zeros(20)}, r"columns\['who'\] has one value alone"),
    ],
)
@pytest.mark.filterwarnings("ignore::skneighbors.ColumnWarning")  # of 'name'
def test_refuses_columns(columns, message):
    with pytest.raises(ValueError, match=message):
        show(WORDS, np.arange(20.0), columns)


@pytest.mark.filterwarnings("ignore::skneighbors.ColumnWarning")
@pytest.mark.parametrize("columns", ["x", 3])
def test_columns_must_be_a_list_or_a_dict(columns):
    with pytest.raises(TypeError, match=r"columns must be a list of columns of X, or a dict"):
        show(WORDS, np.arange(20.0), columns)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (WORDS, np.ones(20), r"y must vary"),
        (WORDS, np.arange(19.0), r"y must have shape \(20,\)"),
        (WORDS, [np.nan] * 20, r"y must be finite"),
        (WORDS[:9], np.arange(9.0), r"X must have at least 10 rows to hold some out; got 9"),
        (np.arange(20.0), np.arange(20.0), r"X must be a table of rows and columns"),
        (np.full((20, 2), np.nan), np.arange(20.0), r"X has no column with a value"),
    ],
)
def test_refuses_data(X, y, message):
    with pytest.raises(ValueError, match=message):
        show(X, y, [0])


def test_without_matplotlib_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"HoldOutDisplay needs matplotlib"):
        show(WORDS, np.arange(20.0))

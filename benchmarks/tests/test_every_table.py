"""The run over all tables of R's packages: what is a target, and what is an outcome."""

import warnings

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("polars")
pytestmark = pytest.mark.usefixtures("benchmarks_importable")


@pytest.fixture
def table():
    rng = np.random.RandomState(0)
    return pd.DataFrame(
        {
            "rownames": range(40),
            "text": rng.choice(["a", "b", None], 40),
            "sure": rng.uniform(size=40) < 0.5,
            "size": rng.normal(size=40),
            "price": rng.normal(size=40),
            "constant": 1.0,
            "name": "x",
        }
    )


def test_the_last_column_of_numbers_is_the_target(table):
    from every_table import split_target

    X, y = split_target(table)
    assert list(X) == ["text", "sure", "size", "constant", "name"]
    assert sorted(y) == sorted(table["price"])
    assert split_target(table[["text", "sure", "constant"]]) is None


def test_outcomes(table, tmp_path):
    from every_table import DIFFERS, OTHER_VALUES, PREDICTED, REFUSED, judge, read_by_all

    X = table.drop(columns=["rownames", "price"])
    tables, y = read_by_all(X, tmp_path), np.arange(40.0)
    assert list(map(len, tables.values())) == [40] * 3
    for turn in range(3):
        assert judge(tables, y, turn) == (PREDICTED, "")
    assert judge(tables | {"polars": X.assign(size=0.0)}, y, 0)[0] == DIFFERS
    assert judge(tables | {"polars": X.assign(size="a")}, y, 0)[0] == OTHER_VALUES
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert judge({"pandas": X.assign(size=np.inf)}, y, 0)[0] == REFUSED

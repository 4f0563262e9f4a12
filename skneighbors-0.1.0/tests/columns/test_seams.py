"""A kind of column is one class and one line in ``KINDS``: colors, alike where their blue is."""

import pickle
import re
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from explained import differences_of
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import r2_score

from skneighbors import NONARegressor, Recipe, load
from skneighbors._columns import KINDS, Table
from skneighbors._columns.base import Kind

N = 200
HEX = re.compile("#[0-9a-f]{6}")


@dataclass(frozen=True, eq=False)
class Colors(Kind):
    """Red, green and blue of text such as "#a0b1c2"."""

    name, width = "colors", 3

    @classmethod
    def of(cls, column):
        return cls() if column.texts and all(map(HEX.fullmatch, column.texts)) else None

    def read(self, column):
        block = np.full((len(column.values), 3), np.nan)
        for row, cell in enumerate(column.values):
            if isinstance(cell, str) and HEX.fullmatch(cell):
                block[row] = list(bytes.fromhex(cell[1:]))
            elif column.texts.get(cell):
                raise ValueError(f"{column.name} holds {cell!r}; in fit it held colors.")
        return block

    def coordinates(self, block):
        return np.nan_to_num(block[:, 2:], nan=0.5)  # ranks of blue

    def decode_present(self, block):
        return ["#" + bytes(row).hex() for row in block.astype(np.uint8)]


@pytest.fixture(autouse=True)
def with_colors(monkeypatch):
    monkeypatch.setattr("skneighbors._columns.reader.KINDS", [Colors, *KINDS])


def make_table():
    rng = np.random.RandomState(0)
    rgb = rng.randint(256, size=(N, 3)).astype(np.uint8)
    colors = pd.Series(["#" + bytes(row).hex() for row in rgb], dtype=object)
    X = pd.DataFrame({"size": rng.normal(size=N), "color": colors, "town": rng.choice([*"ab"], N)})
    X.loc[::20, "color"] = None
    return X, rgb[:, 2] / 32 * X["color"].notna() + X["size"]


@pytest.mark.parametrize("blend", ["linear", "boosting", None])
def test_colors(blend, tmp_path):
    X, y = make_table()
    model = NONARegressor(
        recipe=Recipe(likeness=1.0), blend=blend, n_estimators=2, max_iter=40, random_state=0
    )
    model.fit(X[:150], y[:150])
    assert r2_score(y[150:], model.predict(X[150:])) > 0.6
    summary = model.columns_
    assert summary.read_as == ["numbers", "colors", "2 categories"]
    assert (summary.n_missing, summary.examples[1]) == ([0, 8, 0], repr(X["color"][1]))
    why = model.explain(X[150:155], by_column=True)
    assert why.by_column.columns == ["size", "color", "town"]
    assert_allclose(why.by_column.differences.sum(2), differences_of(model, why), atol=1e-9)
    assert_array_equal(why.by_column.query_values[:, 1], X["color"][150:155])
    assert set(why.by_column.row_values[..., 1].ravel()) <= {None, *X["color"][:150]}
    # In likeness the columns count a third each, and of colors blue alone.
    reader, encoder = model._model.reader, model._model.likeness_encoder
    alike = pd.DataFrame({"size": 0.0, "color": ["#00007f", "#ff007f", "#0000ff"], "town": "a"})
    points = encoder.transform(reader, reader.read(Table.of(alike))).astype(float)
    assert_array_equal(points[0], points[1])
    ranks = [(X["color"][:150].str[5:].dropna() <= blue).mean() for blue in ("7f", "ff")]
    assert_allclose(np.ptp(points, axis=0).sum() * 3**0.5, ranks[1] - ranks[0], atol=0.01)
    model.save(tmp_path / "model")
    assert_array_equal(load(tmp_path / "model").predict(X[150:]), model.predict(X[150:]))
    updated = pickle.loads(pickle.dumps(model)).append(X[150:], y[150:])
    assert_array_equal(updated.kneighbors(X[150:], 1)[1].ravel(), np.arange(150, N))
    with pytest.raises(ValueError, match="Column 'color' of X holds 'red'; in fit it held colors"):
        model.predict(X.assign(color="red"))

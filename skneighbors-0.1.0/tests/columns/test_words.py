"""Texts are read by their n-grams, where a column holds text rather than categories."""

import narwhals as nw
import numpy as np
import pandas as pd
import pytest
from explained import differences_of
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from skneighbors import NONARegressor, load
from skneighbors._columns import Table
from skneighbors._columns.base import LearningRows
from skneighbors._columns.words import Words, holds_words

WORDS = ["red", "blue", "green", "dark", "light", "oak", "pine", "chair", "table", "shelf", "lamp"]


def make_texts(n, n_words=4, seed=0):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, n_words)) + f" {i}" for i in range(n)]


def make_table(n=240):
    """Targets say whether a title is of a red one, and a number beside."""
    rng = np.random.default_rng(0)
    titles = [f"{'dark red' if i % 2 else 'light green'} chair {i}" for i in range(n)]
    X = pd.DataFrame({"size": rng.normal(size=n), "title": titles})
    return X, 5.0 * X["title"].str.contains("red").to_numpy() + X["size"].to_numpy()


@pytest.fixture(scope="module")
def fitted():
    X, y = make_table()
    return NONARegressor(max_iter=10, random_state=0).fit(X[:200], y[:200]), X, y


def words_of(texts):
    return Words({text: code for code, text in enumerate(texts)})


def encoder_of(texts, n_components):
    return words_of(texts).with_components(n_components)


def test_components_are_those_of_scikit_learn():
    texts = make_texts(120)
    encoder = encoder_of(texts, 5)
    tfidf = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 4), min_df=2)
    svd = TruncatedSVD(5, algorithm="arpack", random_state=0)
    expected = svd.fit_transform(tfidf.fit_transform(texts))
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert encoder.ngrams == tfidf.get_feature_names_out().tolist()
    found = encoder.encode(texts)
    assert_allclose(found @ found.T, expected @ expected.T, atol=1e-9)  # signs may differ
    assert_allclose(np.abs(found), np.abs(expected), atol=1e-9)


def test_a_text_alone_is_a_text_among_others():
    texts = [*make_texts(50), "", "Æ 😀 שלום", "x" * 10**6]
    encoder = encoder_of(texts, 4)
    together = encoder.encode(texts)
    assert_array_equal(together, np.vstack([encoder.encode([text]) for text in texts]))
    lengths = np.linalg.norm(together, axis=1)
    assert_allclose(lengths[:50], 1)
    assert_array_equal(lengths[50:], 0)


def test_order_of_texts_does_not_matter():
    texts = make_texts(80)
    first, second = encoder_of(texts, 6), encoder_of(texts[::-1], 6)
    assert_array_equal(first.vectors, second.vectors)


def test_components_of_equal_singular_values_do_not_depend_on_rounding():
    # Each word in two texts and in no other: all singular values are the same.
    texts = [f"{word} {word}{i}" for word in ("aaaa", "bbbb", "cccc", "dddd") for i in range(2)]
    encoder = encoder_of(texts, 4)
    again = encoder_of(texts, 4)
    assert_allclose(encoder.vectors, again.vectors, atol=1e-12)
    kernel = encoder.vectors @ encoder.vectors.T
    assert_allclose(kernel @ kernel, kernel, atol=1e-9)
    # Three of four would be any three.
    assert encoder_of(texts, 3).ngrams == []


def test_nothing_in_common():
    assert encoder_of(["abcd", "efgh", "ijkl"], 3).ngrams == []
    assert encoder_of(["", " "], 3).ngrams == []


def learn(titles, n_each=1):
    """What a column of titles becomes, each in some rows that differ in a number."""
    X = np.column_stack([np.arange(len(titles) * n_each), np.arange(len(titles) * n_each)]) * 1.0
    X[:, 0] %= len(titles)
    rows = LearningRows(X, np.array([True, False]), X[:, 1:], np.ones(len(X)))
    return words_of(titles).learn(X[:, :1], rows)


def test_what_is_text():
    titles = make_texts(200)
    assert holds_words(titles)
    assert not holds_words(titles[:10])
    assert not holds_words([f"a{i} b" for i in range(200)])
    kind, block = learn(titles)
    assert block.shape == (200, 5)
    assert not kind.is_category
    assert learn(titles, 5)[0].is_category
    assert learn(titles[:40])[0].name == "categories"


def test_words_predict(fitted):
    model, X, y = fitted
    assert model.score(X[200:], y[200:]) > 0.9
    assert model.columns_.read_as == ["numbers", "text, 200 different"]
    assert not np.isnan(model.predict(X.assign(title=None))).any()


def test_a_text_is_one_column_of_explanations(fitted):
    model, X, _ = fitted
    explanation = model.explain(X[200:205], by_column=True)
    found = explanation.by_column
    assert found.columns == ["size", "title"]
    assert_allclose(found.differences.sum(-1), differences_of(model, explanation), atol=1e-9)
    assert_array_equal(found.query_values[:, 1], X["title"][200:205])
    assert set(found.row_values[..., 1].ravel()) <= set(X["title"][:200])
    assert list(explanation.importances()) == ["size", "title"]


def test_likeness_is_by_the_cosine(fitted):
    model, X, _ = fitted
    reader, encoder = model._model.reader, model._model.likeness_encoder
    assert encoder is not None
    titles = [*X["title"][:3], None]
    matrix = reader.read(Table.of(pd.DataFrame({"size": [0.0] * 4, "title": titles})))
    points = encoder.transform(reader, matrix).astype(float)
    u = reader.kinds[1].encode(titles[:3])
    squares = cdist(points, points, "sqeuclidean")
    assert_allclose(squares[:3, :3], (1 - u @ u.T) / 2, atol=1e-6)
    assert_allclose(squares[3], [0.25, 0.25, 0.25, 0], atol=1e-6)


def test_files(fitted, tmp_path):
    model, X, _ = fitted
    model.save(tmp_path / "model")
    assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))


def test_weights_are_repeats():
    X, y = make_table(200)
    times = np.random.default_rng(0).integers(0, 3, size=200)
    options = {"max_iter": 3, "random_state": 0}
    weighted = NONARegressor(**options).fit(X, y, sample_weight=times)
    repeated = NONARegressor(**options).fit(X.loc[X.index.repeat(times)], np.repeat(y, times))
    assert weighted.columns_.read_as[1].startswith("text")
    assert_array_equal(weighted.predict(X), repeated.predict(X))


def test_updates(fitted):
    _, X, y = fitted
    more = NONARegressor(max_iter=10, random_state=0).fit(X[:200], y[:200]).append(X[200:], y[200:])
    assert_array_equal(more.kneighbors(X[200:], 1)[1].ravel(), np.arange(200, 240))


def test_each_column_is_read_once(noted):
    lengths = noted(nw.Series, "to_list", lambda _, own: len(own))
    X, y = make_table()
    X = X.assign(town=np.resize(["Graz", "Linz"], 240), price=np.arange(240).astype(str))
    NONARegressor(max_iter=1, n_estimators=1, hidden_layer_sizes=4, blend=None).fit(X, y)
    assert lengths.count(240) == 3  # those of text; of others, a value is shown
    assert set(lengths) == {1, 240}

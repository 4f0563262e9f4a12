"""Columns of words: categories if they repeat, and coordinates by their character n-grams."""

from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from scipy.sparse.linalg import svds
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.preprocessing import normalize

from .._utils.arrays import array_field
from .base import Features
from .categories import Categories, number_categories

# Only so many characters of a text are read.
_LONGEST = 2_000
# Of unique texts so many are learned from, and so many n-grams are kept: those of most texts.
_MAX_TEXTS, _MAX_NGRAMS = 4_000, 5_000
# Texts that are encoded at a time.
_AT_ONCE = 10_000
# Singular values that agree up to this fraction belong to one subspace.
_EQUAL = 1e-4
# A column of no more unique texts, or of fewer words a text, is one of categories alone.
_MIN_TEXTS, _MIN_WORDS = 30, 2.5
# From so large a fraction of the rows on, texts are no categories.
_UNIQUE = 0.5
_MAX_COMPONENTS, _ROWS_A_COMPONENT = 30, 50


@dataclass(frozen=True, eq=False)
class Words(Categories):
    """Text of several words: codes say which texts are the same, components which are alike.

    Components are of the n-grams of 3 and 4 characters within their words. Frequencies of these,
    weighted by their inverse document frequencies (TF-IDF), are projected to the first right
    singular vectors of those of the training texts (latent semantic analysis; Deerwester et al.,
    1990) and scaled to unit length, so that products are cosines. No language is presumed.
    A text without any, as a missing one, has components of 0. Likeness goes half by the cosine.

    Attributes
    ----------
    codes : dict
    is_category : bool
        Whether texts are categories, too.
    ngrams : list of str
        None in words that have not learned.
    idf : ndarray of shape (n_ngrams,)
    vectors : ndarray of shape (n_ngrams, n_components)
    """

    is_category: bool = False
    ngrams: list[str] = field(default_factory=list)
    idf: np.ndarray | None = array_field("float64", "g", low=0, default=None)
    vectors: np.ndarray | None = array_field("float64", "g width", default=None)

    may_name_rows = False

    @classmethod
    def of(cls, column):
        """Return a kind with a code for each text, if these may be more than categories."""
        is_free = column.given is None and holds_words(column.texts)
        return cls(number_categories(column)) if is_free else None

    @property
    def n_components(self):
        """Number of components; 0 before they are learned."""
        return self.vectors.shape[1] if self.ngrams else 0

    def read(self, column):
        """Read codes and components."""
        codes = super().read(column)
        if not self.ngrams:
            return codes
        known = {text: place for place, text in enumerate(dict.fromkeys(column.categories))}
        unique = self.encode(["" if text is None else text for text in known])
        return np.hstack([codes, unique[[known[text] for text in column.categories]]])

    def learn(self, block, rows):
        """Find codes and components; categories alone if there are none."""
        kind, codes = super().learn(block, rows)
        n_rows, n_present = len(rows.unique), np.count_nonzero(~np.isnan(block[rows.unique]))
        kind = kind.with_components(min(_MAX_COMPONENTS, n_rows // _ROWS_A_COMPONENT))
        if not kind.ngrams:  # rows are too few, or texts have next to nothing in common
            return Categories(kind.codes), codes
        # Missing texts are 0, and unknown ones have no weight.
        known = np.pad(kind.encode(kind.codes), [(0, 1), (0, 0)])
        components = known[np.nan_to_num(codes[:, 0], nan=-1).astype(int)]
        is_category = bool(len(kind.codes) < _UNIQUE * n_present)
        return replace(kind, is_category=is_category), np.hstack([codes, components])

    def with_components(self, n_components):
        """Learn components of the texts; none if fewer than two share an n-gram."""
        texts = sorted(self.codes)
        step = len(texts) / min(len(texts), _MAX_TEXTS)
        texts = [texts[int(i * step)] for i in range(min(len(texts), _MAX_TEXTS))]
        vectorizer, tfidf = _vectorizer(), TfidfTransformer()
        counts = _count_ngrams(texts, vectorizer.fit)
        n_texts_with = np.bincount(counts.indices, minlength=counts.shape[1])
        kept = np.argsort(-n_texts_with, kind="stable")[:_MAX_NGRAMS]
        kept = np.sort(kept[n_texts_with[kept] > 1])
        X = tfidf.fit_transform(counts[:, kept]) if len(kept) else counts[:, kept]
        vectors = _principal_components(X, n_components) if n_components else None
        if vectors is None:
            return self
        ngrams = vectorizer.get_feature_names_out()[kept].tolist()
        return replace(self, ngrams=ngrams, idf=tfidf.idf_, vectors=vectors)

    def encode(self, texts):
        """Components (n_texts, n_components) of texts, 0 without known n-grams."""
        texts, tfidf = list(texts), TfidfTransformer()
        tfidf.idf_ = self.idf
        encoded = np.zeros((len(texts), self.n_components))
        for start in range(0, len(texts), _AT_ONCE):
            batch = slice(start, start + _AT_ONCE)
            counts = _count_ngrams(texts[batch], lambda words: _vectorizer(self.ngrams))
            encoded[batch] = normalize(tfidf.transform(counts) @ self.vectors)
        return encoded

    @property
    def n_categories(self):
        """Number of categories, if texts are categories."""
        return (len(self.codes),) * self.is_category

    def features(self, block):
        """Components, and codes if texts are categories."""
        return Features(block[:, : len(self.n_categories)], components=block[:, 1:])

    def coordinates(self, block):
        """Components: squared distances are 1 minus the cosine."""
        return block[:, 1:] / np.sqrt(2)

    def describe(self):
        """Say in words what the column is read as."""
        categories = f"{super().describe()}, text"
        return categories if self.is_category else f"text, {len(self.codes)} different"

    def _check_fields(self, sizes):
        """Raise ValueError if codes are none, or n-grams, or as many as nothing else."""
        super()._check_fields(sizes)
        is_learned = self.ngrams and self.idf is not None and self.vectors is not None
        if not is_learned or len(set(self.ngrams)) < len(self.ngrams):
            raise ValueError("a column of words holds no n-grams")

    def _field_sizes(self):
        """Count the n-grams."""
        return {"g": len(self.ngrams)}


def holds_words(texts):
    """Whether unique texts may be more than categories."""
    n_words = sum(len(text[:_LONGEST].split()) for text in texts)
    return len(texts) > _MIN_TEXTS and n_words >= _MIN_WORDS * len(texts)


def _vectorizer(ngrams=None):
    return CountVectorizer(analyzer="char_wb", ngram_range=(3, 4), vocabulary=ngrams)


def _count_ngrams(texts, vectorizer_for):
    """Count the n-grams of texts, once for each word: a sparse matrix (n_texts, n_ngrams)."""
    splitter = CountVectorizer(analyzer=str.split)
    # A word that is always there, as there must be one.
    words = splitter.fit_transform([*(text[:_LONGEST].lower() for text in texts), "-"])[:-1]
    names = splitter.get_feature_names_out()
    counts = (words @ vectorizer_for(names).transform(names)).tocsr()
    counts.sort_indices()  # so that sums are the same in any batch
    return counts


def _principal_components(X, n_components):
    """Right singular vectors (n_ngrams, k) of a sparse matrix, k at most `n_components`.

    They are unique up to rounding: of a subspace of equal singular values the basis is chosen
    by projections of fixed vectors, and one that would be split is left out.
    """
    n = min(n_components + 1, *(size - 1 for size in X.shape))
    if n < 1:
        return None
    start = np.random.RandomState(0).uniform(-1, 1, min(X.shape))
    _, s, vt = svds(X, n, v0=start)
    order = np.argsort(-s)
    s, vt = s[order], vt[order]
    starts = [0, *np.flatnonzero(s[1:] < (1 - _EQUAL) * s[:-1]) + 1, n]
    fixed = np.random.RandomState(0).standard_normal((X.shape[1], n))
    blocks = [
        np.linalg.qr(vt[a:b].T @ (vt[a:b] @ fixed[:, : b - a]))
        for a, b in pairwise(starts)
        if b < n or n <= n_components
    ]
    blocks = [q * np.sign(np.diag(r)) for q, r in blocks]
    return np.hstack(blocks) if blocks else None

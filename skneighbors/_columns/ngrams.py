"""Texts as coordinates: principal components of their character n-grams."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.sparse.linalg import svds
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.preprocessing import normalize

from .._utils.arrays import Stored, array_field

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


def holds_text(texts):
    """Whether unique texts may be more than categories."""
    n_words = sum(len(text[:_LONGEST].split()) for text in texts)
    return len(texts) > _MIN_TEXTS and n_words >= _MIN_WORDS * len(texts)


def fit_text_encoder(texts, n_present, n_rows):
    """Make an encoder for a column of text, and find whether its texts are categories as well.

    Parameters
    ----------
    texts : iterable of str
        Unique texts.
    n_present : int
        Number of unique rows that have one.
    n_rows : int
        Number of unique rows.

    Returns
    -------
    encoder : TextEncoder or None
        None if they have next to nothing in common, or rows are too few.
    is_category : bool
    """
    n_components = min(_MAX_COMPONENTS, n_rows // _ROWS_A_COMPONENT)
    encoder = TextEncoder.fit(texts, n_components) if n_components else None
    return encoder, encoder is None or len(texts) < _UNIQUE * n_present


@dataclass(frozen=True, eq=False)
class TextEncoder(Stored):
    """Encodes texts by the n-grams of 3 and 4 characters within their words.

    Frequencies of n-grams, weighted by their inverse document frequencies (TF-IDF), are projected
    to the first right singular vectors of those of the training texts (latent semantic analysis;
    Deerwester et al., 1990) and scaled to unit length, so that products are cosines. No language
    is presumed.

    Attributes
    ----------
    ngrams : list of str
    idf : ndarray of shape (n_ngrams,)
    components : ndarray of shape (n_ngrams, n_components)
    """

    ngrams: list[str]
    idf: np.ndarray = array_field("float64", "g", low=0)
    components: np.ndarray = array_field("float64", "g width")

    @property
    def n_components(self):
        """Number of components."""
        return self.components.shape[1]

    @classmethod
    def fit(cls, texts, n_components):
        """Make an encoder of unique texts; None if fewer than two share an n-gram."""
        texts = sorted(texts)
        step = len(texts) / min(len(texts), _MAX_TEXTS)
        texts = [texts[int(i * step)] for i in range(min(len(texts), _MAX_TEXTS))]
        vectorizer = _vectorizer()
        counts = _count_ngrams(texts, vectorizer.fit)
        n_texts_with = np.bincount(counts.indices, minlength=counts.shape[1])
        kept = np.argsort(-n_texts_with, kind="stable")[:_MAX_NGRAMS]
        kept = np.sort(kept[n_texts_with[kept] > 1])
        tfidf = TfidfTransformer()
        X = tfidf.fit_transform(counts[:, kept]) if len(kept) else counts[:, kept]
        components = _principal_components(X, n_components)
        if components is None:
            return None
        return cls(vectorizer.get_feature_names_out()[kept].tolist(), tfidf.idf_, components)

    def field_sizes(self):
        """Count the n-grams."""
        return {"g": len(self.ngrams)}

    def check_fields(self, sizes):
        """Check that n-grams differ."""
        if len(set(self.ngrams)) < len(self.ngrams) or not self.ngrams:
            raise ValueError("reader.texts holds no n-grams")

    def transform(self, texts):
        """Encode texts, to an ndarray of shape (n_texts, n_components), 0 without known n-grams."""
        texts, tfidf = list(texts), TfidfTransformer()
        tfidf.idf_ = self.idf
        encoded = np.zeros((len(texts), self.n_components))
        for start in range(0, len(texts), _AT_ONCE):
            batch = slice(start, start + _AT_ONCE)
            counts = _count_ngrams(texts[batch], lambda words: _vectorizer(self.ngrams))
            encoded[batch] = normalize(tfidf.transform(counts) @ self.components)
        return encoded


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

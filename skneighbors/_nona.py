"""Nearness of neighbors attention as estimators."""

from dataclasses import dataclass
from typing import Any

from ._base import BaseNeighborEstimator
from ._classifier import BaseNeighborClassifier
from ._regressor import BaseNeighborRegressor
from ._settings import Recipe
from .nn import NONA

# The setting of the papers: ``NONARegressor(**PAPER)``.
PAPER: dict[str, Any] = dict(
    n_neighbors=None,
    similarity="l2",
    softstep="s2",
    softstep_parameters="pointwise",
    trend=None,
    blend=None,
    hidden_layer_sizes=(200,),
    n_estimators=1,
    max_iter=200,
    batch_size=32,
    learning_rate_init=1e-3,
    weight_decay=0.0,
    early_stopping=True,
    validation_fraction=0.15,
    recipe=Recipe(
        activation="tanh",
        batch_norm=False,
        numerical_embedding=None,
        dropout=0.0,
        temperature=1.0,
        likeness=0.0,
        context_size=None,
        embedding_dim=25,
        learning_rate_schedule="constant",
        ema_decay=None,
        n_iter_no_change=10,
        refit=False,
    ),
)


class _NONAWeights(BaseNeighborEstimator):
    """What both estimators share besides their docstrings."""

    _head_class = NONA

    @staticmethod
    def _fixed_temperature(temperature):
        if temperature == 1:
            return {"temperature": None}
        return {"temperature": temperature, "learn_temperature": False}


@dataclass(kw_only=True, eq=False, repr=False)
class NONARegressor(_NONAWeights, BaseNeighborRegressor):
    """Regression by nearness of neighbors attention in a learned embedding.

    The embedding ``z`` of a row, computed by a multilayer perceptron, attends to the
    embeddings of the nearest training rows: their targets, each adjusted by the difference of a
    trend between the two rows, are averaged with weights ``softmax(S / temperature +
    log M)``, where `S` are similarities and `M` is SoftStep, a learned mask that decides for
    every query which neighbors count. Everything is trained end to end; in training no row
    is a neighbor of itself.

    Read more in the :ref:`User Guide <user_guide>`.

    Parameters
    ----------
    n_neighbors : int or None, default=20
        Number of training samples that a prediction rests on: those nearest in the embedding
        space, that of :meth:`transform`, by :ref:`likeness <likeness>` as well, so that all
        networks weigh the same rows. Rows that
        are equal in X and y count as one, whatever their weight. While a network is trained,
        the rows nearest by its embedding validate it. None: all rows, as in the papers. May be
        changed after :meth:`fit` by ``set_params``.

    similarity : {"l2", "l1", "dot", "cosine"}, default="l2"
        Similarity in the embedding; see :func:`skneighbors.nn.similarity`.

    softstep : {"s1", "s2"} or None, default="s2"
        Mask function: ``"s1"`` rejects neighbors below a threshold, ``"s2"``
        fades them; None for no mask. See :class:`skneighbors.nn.SoftStep`.

    softstep_parameters : {"pointwise", "global"}, default="pointwise"
        Whether the mask is a function of the query's embedding, or the same for all queries.

    blend : {"auto", "boosting", "linear"} or None, default="auto"
        Blended model, which is averaged with the networks by the `blend_weight_` that is chosen on
        the validation rows.

        - ``"boosting"``: the mean of five histogram boostings of four fifths of the rows each,
          with categories also encoded by means of the targets.
        - ``"linear"``: a ridge regression, with categories one-hot. Its strength has the lowest
          loss out of fold.
        - None: none. Without a trend, too, a prediction is a weighted mean of targets.
        - ``"auto"``: ``"linear"`` from 30 unique rows on, and from 100 on the mean of both, by
          weights that out-of-fold predictions choose, if there are validation rows and no
          `feature_extractor`; else None. See :ref:`blending`.

    hidden_layer_sizes : int, array-like of int or "auto", default="auto"
        Widths of the embedder's hidden layers; ``()`` for a linear embedding. From
        the third on, a layer as wide as the one before adds its input to its output.

    feature_extractor : torch.nn.Module, callable or None, default=None
        Module that maps X of shape (b, ...) to features of shape (b, p), or a callable without
        arguments that returns one. Each network trains a copy. X may then have more than two
        dimensions and is not scaled. The module may write in place, into copies of the rows.

    categorical_features : array-like, "from_dtype" or None, default="from_dtype"
        All columns that hold categories: names, indices or a mask. ``"from_dtype"``: those of
        text, bool and categorical dtypes, and columns of objects that hold text or bools
        alone; text that is read as numbers, dates, durations or words is none
        (:ref:`columns`). None: none. Missing categories, and those not seen in :meth:`fit`, are
        one more category. Not used with a `feature_extractor`.

    n_estimators : int or "auto", default="auto"
        Number of networks trained side by side, each with other initial weights,
        batches and validation rows. Predictions are their mean.

    max_iter : int or "auto", default="auto"
        Largest number of epochs. With noisy targets, a training of many epochs often stops after
        a quarter or half of them (see Notes).

    max_time : float or None, default=None
        Seconds that :meth:`fit` may take. As long as they are enough, the fit is the same as
        without a limit. Else boosted trees get fewer iterations, lest they take more than half
        of the time, and the training ends with the last cycle of the learning rate that there
        is time for, passed through faster; part of an epoch, if need be. A fit warns of what was
        shortened by a quarter or more. `n_iter_` says how many epochs there were.

    batch_size : int, default=256
        Largest number of rows drawn to be predicted in one step of the optimizer; one
        more where a batch of a single row would be left.

    learning_rate_init : float, default=1e-2
        Peak learning rate of AdamW.

    weight_decay : float, default=0.1
        Weight decay of AdamW.

    early_stopping : bool or "auto", default="auto"
        Whether to set validation rows aside. They decide when training stops, and the weights of
        the epoch that predicts them best are kept; otherwise those of the epoch of lowest training
        loss. Validation rows are neighbors all the same once the training is
        over; whether they are trained on in the end, too, is up to `recipe`'s `refit`. With fewer
        than three unique rows there are none.

    validation_fraction : float or "auto", default="auto"
        Fraction of the rows for validation; ``"auto"`` is 0.15, at most 1,024 rows (of very
        many rows fewer). With `time` it is 0.2 of those with a time, and each network uses at
        most as many of them.

    algorithm : {"auto", "ivf", "hnsw"}, default="auto"
        How the nearest rows are found. ``"auto"``: exactly, by scikit-learn's
        :class:`~sklearn.neighbors.NearestNeighbors` on a CPU and by torch on a GPU. The others,
        for a hundred thousand rows and more, are indices of FAISS, which may miss rows, and
        nothing else: ``"ivf"`` is an inverted file (not for ``similarity="l1"``), ``"hnsw"`` a
        hierarchical graph, slow to build. May be changed after :meth:`fit`.

    recipe : Recipe or None, default=None
        Expert settings of the training; see :class:`Recipe`. None: all ``"auto"``.

    n_jobs : int or None, default=None
        Limit of the threads of torch and of OpenMP, in a fit and in any later call; -1 is as many
        as there are cores, -2 one fewer. None, or more than these two are set to: as many as they
        are set to. Results do not depend on it. May be changed after :meth:`fit`. See
        :ref:`threads`.

    device : str, default="auto"
        ``"auto"`` (CUDA where usable, else the CPU), ``"cpu"``, ``"cuda"`` or
        ``"cuda:N"``. A fitted estimator holds CPU arrays, and predicts on the
        CPU where the device is missing.

    random_state : int, RandomState instance or None, default=None
        Seed of the initial weights, the batches and the validation split. The
        same seed gives bitwise the same fit on a CPU.

    verbose : bool or int, default=0
        1: loss, validation score (R2) and the time left, by a bar if there is
        `tqdm`, else by a line every few seconds. 0: silence.

    trend : {"linear"} or None, default="linear"
        What the neighbors correct, learned with the rest.

        - ``"linear"``: a linear function of the embedding. A neighbor's target is raised by
          what it gives more for the query. Predictions can then leave the range of all
          neighbors' targets, by at most a tenth of it.
        - None: nothing.

    Attributes
    ----------
    plan_ : object
        What the fit was planned to do, such as `plan_.max_iter`, `plan_.n_validation` and
        `plan_.recipe`. `plan_.params` are all parameters, those of ``"auto"`` resolved: an
        estimator of these fits the same model again, unless `max_time` shortened the fit.

    loss_curve_ : list of float
        Training loss of every epoch: mean squared error of the standardized
        targets over rows and networks; no row is a neighbor of itself.

    validation_scores_ : list of float or None
        R2 on the validation rows, the mean over the networks, after each epoch that
        was validated, as long as they are not trained on. None without any.

    validation_iters_ : list of int or None
        Those epochs, counted from 1: every one if the recipe's `n_iter_no_change` is given or
        `max_iter` is below 32. Of more epochs, some 20 to 130, the first and last among
        them, and with ``learning_rate_schedule="cycles"`` otherwise none whose rate is above
        half of its peak.

    n_iter_ : int
        Number of epochs run; those of a training repeated on all rows are not counted.

    best_iter_ : int
        Epoch, counted from 1, whose weights are kept: the best, or the last if the last
        cycle trained on all rows. If the networks were trained again on all rows
        instead, the best epoch before, whose number of steps they then took.

    blend_weight_ : float
        The weight of the blended model in a prediction, from 0 to 1 in steps of 0.02: the one
        that predicts the validation rows best. Near 1, neighbors matter little for it. `blend_`
        has the weights of the parts.

    columns_ : ColumnSummary or None
        How the columns of X were read; None with a `feature_extractor`. See
        :class:`skneighbors.inspection.ColumnSummary`.

    likeness_ : float
        Strength of likeness: how much the columns count beside the learned distance. See
        :class:`Recipe`.

    temperature_ : ndarray of shape (n_networks,)
        Temperature of each network's softmax in prediction: what similarities are divided by;
        see :class:`Recipe`.

    n_samples_fit_ : int
        Number of samples given to :meth:`fit`.

    n_outputs_ : int
        Number of targets.

    n_features_in_ : int
        Number of features seen during :meth:`fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features seen during :meth:`fit`. Defined only when X has
        feature names that are all strings.

    See Also
    --------
    SoftStepKNNRegressor : Weights that hold the mask alone, over ranks.
    skneighbors.nn.NONA : The head alone, for other networks.
    sklearn.neighbors.KNeighborsRegressor : Neighbors in the given features.

    Notes
    -----
    Numbers are scaled robustly and clipped smoothly; dates and times are days since 1970
    (UTC), durations are days. A missing value is taken for the median, and a further feature says
    where the column had any. Columns of up to 8 categories are one-hot; of more, each category
    learns a vector. Boosted trees get numbers with their missing values, and of categories codes
    (of the 254 most frequent of each column), means of targets, and counts. The linear model gets
    numbers clipped to their 0.002 and 0.998 quantiles and standardized, flags of missing ones, and
    of the categories of at least five samples the 500 most frequent, one-hot. Targets are
    standardized; those far from all others are bounded (:ref:`far_targets`). The order of columns
    whose names are text does not matter to `fit`. Training is in float32, prediction in float64.

    With validation rows and ``learning_rate_schedule="cycles"``, a training of at least
    `min_steps` steps (see :class:`Recipe`) without `n_iter_no_change` has an early-stopping
    check at the end of the last but one of the learning rate's cycles that are trained, and at
    those of earlier ones, from the third on, if R2 is below 0.85. If the validation error
    exceeds its best by more than two standard errors (at those, if the cycle brought no gain),
    training stops, and the networks are refitted on all rows, from the same initial weights and
    for as many steps as were best; with `time` in any case. If not, the last cycle trains on
    all rows and its last weights are kept. (``Recipe(refit=False)`` never trains on validation
    rows.) After five cycles a sixth and, from 500 rows on, a seventh, each twice as long as the
    one before, are trained only if there are twice or four times `min_steps`, and R2 is at
    least 0.95 where the last but one ends.

    ``NONARegressor(**skneighbors.PAPER)`` is the papers' model.

    References
    ----------
    Susman, Suarez-Farinas and Colonel, "Nearness of Neighbors Attention for
    Regression in Supervised Fine-Tuning", arXiv 2506.08139v1; its second version
    by Susman, Lin, Suarez-Farinas and Colonel, "SoftStep: Learning Sparse
    Similarity Powers Deep Neighbor-Based Regression", 2506.08139v2.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from skneighbors import NONARegressor
    >>> X, y = make_friedman1(n_samples=300, random_state=0)
    >>> model = NONARegressor(max_iter=30, random_state=0).fit(X[:250], y[:250])
    >>> model.score(X[250:], y[250:]) > 0.8
    True
    >>> model.explain(X[250:]).indices.shape
    (50, 20)
    >>> model.predict_interval(X[250:], confidence_level=0.9).shape
    (50, 2)
    """


@dataclass(kw_only=True, eq=False, repr=False)
class NONAClassifier(_NONAWeights, BaseNeighborClassifier):
    """Classification by nearness of neighbors attention in a learned embedding.

    The embedding ``z`` of a row, computed by a multilayer perceptron, attends to the
    embeddings of the nearest training rows. A class is as probable as the rows that have it weigh:
    ``softmax(S / temperature + log M)``, where `S` are similarities and `M` is SoftStep, a
    learned mask that decides for every query which neighbors count. Everything is trained end to
    end by log loss; in training no row is a neighbor of itself. Probabilities of boosted trees and
    a linear model are mixed in, and the frequencies of the classes, by weights chosen in the end.

    Read more in the :ref:`User Guide <user_guide>`.

    Parameters
    ----------
    n_neighbors : int or None, default=20
        Number of training samples that a prediction rests on: those nearest in the embedding
        space, that of :meth:`transform`, by :ref:`likeness <likeness>` as well, so that all
        networks weigh the same rows. Rows that
        are equal in X and y count as one, whatever their weight. While a network is trained,
        the rows nearest by its embedding validate it. None: all rows, as in the papers. May be
        changed after :meth:`fit` by ``set_params``.

    similarity : {"l2", "l1", "dot", "cosine"}, default="l2"
        Similarity in the embedding; see :func:`skneighbors.nn.similarity`.

    softstep : {"s1", "s2"} or None, default="s2"
        Mask function: ``"s1"`` rejects neighbors below a threshold, ``"s2"``
        fades them; None for no mask. See :class:`skneighbors.nn.SoftStep`.

    softstep_parameters : {"pointwise", "global"}, default="pointwise"
        Whether the mask is a function of the query's embedding, or the same for all queries.

    blend : {"auto", "boosting", "linear"} or None, default="auto"
        Blended model, whose probabilities are averaged with the networks' by the `blend_weight_`
        that is chosen on the validation rows.

        - ``"boosting"``: the mean of five histogram boostings of four fifths of the rows each,
          with categories also encoded by means of the targets.
        - ``"linear"``: a logistic regression, with categories one-hot. Its strength has the lowest
          loss out of fold.
        - None: none. A probability is then the weight of a class among the neighbors, mixed with
          the frequencies of the classes.
        - ``"auto"``: ``"linear"`` from 30 unique rows on, and from 100 on the mean of both, by
          weights that out-of-fold predictions choose, if there are validation rows and no
          `feature_extractor`; else None. See :ref:`blending`.

    hidden_layer_sizes : int, array-like of int or "auto", default="auto"
        Widths of the embedder's hidden layers; ``()`` for a linear embedding. From
        the third on, a layer as wide as the one before adds its input to its output.

    feature_extractor : torch.nn.Module, callable or None, default=None
        Module that maps X of shape (b, ...) to features of shape (b, p), or a callable without
        arguments that returns one. Each network trains a copy. X may then have more than two
        dimensions and is not scaled. The module may write in place, into copies of the rows.

    categorical_features : array-like, "from_dtype" or None, default="from_dtype"
        All columns that hold categories: names, indices or a mask. ``"from_dtype"``: those of
        text, bool and categorical dtypes, and columns of objects that hold text or bools
        alone; text that is read as numbers, dates, durations or words is none
        (:ref:`columns`). None: none. Missing categories, and those not seen in :meth:`fit`, are
        one more category. Not used with a `feature_extractor`.

    n_estimators : int or "auto", default="auto"
        Number of networks trained side by side, each with other initial weights,
        batches and validation rows. Predictions are their mean.

    max_iter : int or "auto", default="auto"
        Largest number of epochs. With noisy targets, a training of many epochs often stops after
        a quarter or half of them; see :class:`NONARegressor`.

    max_time : float or None, default=None
        Seconds that :meth:`fit` may take. As long as they are enough, the fit is the same as
        without a limit. Else boosted trees get fewer iterations, lest they take more than half
        of the time, and the training ends with the last cycle of the learning rate that there
        is time for, passed through faster; part of an epoch, if need be. A fit warns of what was
        shortened by a quarter or more. `n_iter_` says how many epochs there were.

    batch_size : int, default=256
        Largest number of rows drawn to be predicted in one step of the optimizer; one
        more where a batch of a single row would be left.

    learning_rate_init : float, default=1e-2
        Peak learning rate of AdamW.

    weight_decay : float, default=0.1
        Weight decay of AdamW.

    early_stopping : bool or "auto", default="auto"
        Whether to set validation rows aside. They decide when training stops, and the weights of
        the epoch that predicts them best are kept; otherwise those of the epoch of lowest training
        loss. Validation rows are neighbors all the same once the training is
        over; whether they are trained on in the end, too, is up to `recipe`'s `refit`. With fewer
        than three unique rows there are none.

    validation_fraction : float or "auto", default="auto"
        Fraction of the rows for validation; ``"auto"`` is 0.15, at most 1,024 rows (of very
        many rows fewer). With `time` it is 0.2 of those with a time, and each network uses at
        most as many of them.

    algorithm : {"auto", "ivf", "hnsw"}, default="auto"
        How the nearest rows are found. ``"auto"``: exactly, by scikit-learn's
        :class:`~sklearn.neighbors.NearestNeighbors` on a CPU and by torch on a GPU. The others,
        for a hundred thousand rows and more, are indices of FAISS, which may miss rows, and
        nothing else: ``"ivf"`` is an inverted file (not for ``similarity="l1"``), ``"hnsw"`` a
        hierarchical graph, slow to build. May be changed after :meth:`fit`.

    recipe : Recipe or None, default=None
        Expert settings of the training; see :class:`Recipe`. None: all ``"auto"``.

    n_jobs : int or None, default=None
        Limit of the threads of torch and of OpenMP, in a fit and in any later call; -1 is as many
        as there are cores, -2 one fewer. None, or more than these two are set to: as many as they
        are set to. Results do not depend on it. May be changed after :meth:`fit`. See
        :ref:`threads`.

    device : str, default="auto"
        ``"auto"`` (CUDA where usable, else the CPU), ``"cpu"``, ``"cuda"`` or
        ``"cuda:N"``. A fitted estimator holds CPU arrays, and predicts on the
        CPU where the device is missing.

    random_state : int, RandomState instance or None, default=None
        Seed of the initial weights, the batches and the validation split. The
        same seed gives bitwise the same fit on a CPU.

    verbose : bool or int, default=0
        1: loss, validation score (the gain in log loss) and the time left, by a bar if there is
        `tqdm`, else by a line every few seconds. 0: silence.

    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, by which those of the samples given to :meth:`fit` are multiplied.
        ``"balanced"``: all classes have the same total weight. A class of weight 0 is left out.
        Weights of a given validation set and of samples appended later stay as they are given.

    Attributes
    ----------
    plan_ : object
        What the fit was planned to do, such as `plan_.max_iter`, `plan_.n_validation` and
        `plan_.recipe`. `plan_.params` are all parameters, those of ``"auto"`` resolved: an
        estimator of these fits the same model again, unless `max_time` shortened the fit.

    loss_curve_ : list of float
        Training loss of every epoch: mean log loss over rows and networks; no row is a
        neighbor of itself.

    validation_scores_ : list of float or None
        1 less the log loss on the validation rows over that of the classes' frequencies, the
        mean over the networks, after each epoch that was validated, as long as they are not
        trained on. None without any.

    validation_iters_ : list of int or None
        Those epochs, counted from 1: every one if the recipe's `n_iter_no_change` is given or
        `max_iter` is below 32. Of more epochs, some 20 to 130, the first and last among
        them, and with ``learning_rate_schedule="cycles"`` otherwise none whose rate is above
        half of its peak.

    n_iter_ : int
        Number of epochs run; those of a training repeated on all rows are not counted.

    best_iter_ : int
        Epoch, counted from 1, whose weights are kept: the best, or the last if the last
        cycle trained on all rows. If the networks were trained again on all rows
        instead, the best epoch before, whose number of steps they then took.

    blend_weight_ : float
        The weight of the blended model in a probability, from 0 to 1 in steps of 0.02: the one
        that predicts the validation rows best. Near 1, neighbors matter little for it. `blend_`
        has the weights of the parts.

    columns_ : ColumnSummary or None
        How the columns of X were read; None with a `feature_extractor`. See
        :class:`skneighbors.inspection.ColumnSummary`.

    likeness_ : float
        Strength of likeness: how much the columns count beside the learned distance. See
        :class:`Recipe`.

    temperature_ : ndarray of shape (n_networks,)
        Temperature of each network's softmax in prediction: what similarities are divided by;
        see :class:`Recipe`.

    n_samples_fit_ : int
        Number of samples given to :meth:`fit`.

    n_outputs_ : int
        Number of targets, 1.

    classes_ : ndarray of shape (n_classes,)
        Labels of the classes, sorted.

    n_features_in_ : int
        Number of features seen during :meth:`fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features seen during :meth:`fit`. Defined only when X has
        feature names that are all strings.

    See Also
    --------
    NONARegressor : The same for numbers.
    SoftStepKNNClassifier : Weights that hold the mask alone, over ranks.
    sklearn.neighbors.KNeighborsClassifier : Neighbors in the given features.

    References
    ----------
    Susman, Suarez-Farinas and Colonel, "Nearness of Neighbors Attention for
    Regression in Supervised Fine-Tuning", arXiv 2506.08139v1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skneighbors import NONAClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NONAClassifier(max_iter=30, random_state=0).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.9
    True
    """

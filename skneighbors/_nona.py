"""Nearness of neighbors attention as an estimator."""

from ._base import BaseNeighborRegressor
from ._utils.sklearn_private import StrOptions
from .nn import NONA
from .nn._softstep import SOFTSTEP_FUNCTIONS


class NONARegressor(BaseNeighborRegressor):
    """Regression by nearness of neighbors attention in a learnt embedding.

    The embedding ``z`` of a row, computed by a multilayer perceptron, attends
    to the embeddings of all training rows: their targets are averaged with
    weights ``softmax(S / temperature + log M)``, where `S` are similarities and
    `M` is SoftStep, a learnt mask that decides for every query which neighbours
    count. Everything is trained end to end; in training a row is left out of
    its own neighbours.

    Read more in the :ref:`User Guide <user_guide>`.

    Parameters
    ----------
    similarity : {"l2", "l1", "dot", "cosine"}, default="l2"
        Similarity in the embedding; see :func:`skneighbors.nn.similarity`.

    softstep : {"s1", "s2"} or None, default="s2"
        Mask function: ``"s1"`` rejects neighbours below a threshold, ``"s2"``
        fades them; None for no mask. See :class:`skneighbors.nn.SoftStep`.

    softstep_parameters : {"pointwise", "global"}, default="pointwise"
        Whether every query has its own mask, a function of its embedding, or
        all share one.

    temperature : float or None, default=1.0
        Initial value of the learnt temperature; None for a fixed one of 1.

    trend : {"auto", "linear"} or None, default="auto"
        ``"linear"``: a linear function of the embedding is learnt beside, and
        neighbours contribute their residuals from it, so that predictions can
        leave the range of the neighbours' targets, by at most a tenth of it. None: a
        weighted mean of targets. ``"auto"``: ``"linear"``; but with fewer than 500
        rows distinct in X or y, some of which are set aside for validation, as many
        networks without a trend are trained beside; see `estimator_weights_`.

    sharpness : float or "auto", default="auto"
        What the temperature is divided by in prediction, where more rows are near than
        among the some hundred of a batch. ``"auto"``: of the powers of the square root of 2
        from 0.5 to 8 the one that predicts a network's validation rows best, when its
        training ends or goes on with them; 1 unless it gains more than a standard error.
        Without validation rows 1, as in the papers.

    context_size : int or None, default=256
        Number of training rows drawn for every batch as neighbours beside the
        batch itself; all rows if there are no more than that. None: the batch
        alone, as in the papers.

    context_neighbors : int or None, default=4
        Each row drawn for a batch, or the first `context_size` of them, brings one of
        this many nearest training rows (by Euclidean distance of embeddings; at most
        1,000). The row brought takes a place of the context and is predicted too. To
        the row that brought it, it stands for all that could have been; the others
        stand for the rest of the training set. Small numbers do best. Used where at
        least 2,000 distinct rows are left to train on, and more than `batch_size` and
        `context_size` together; not with ``context_size=None``. None: uniform draws.

    hidden_layer_sizes : int, array-like of int or "auto", default="auto"
        Widths of the embedder's hidden layers; ``()`` for a linear embedding.
        ``"auto"``: two layers of 256, or four from 5,000 rows distinct in X or y on,
        by the rows of each single fit: in a search, of a fold or of the refit. From
        the third on, a layer as wide as the one before adds its input to its output.

    embedding_dim : int, default=64
        Width of the learnt embedding.

    activation : {"silu", "relu", "tanh", "gelu"}, default="silu"
        Activation of the hidden layers.

    batch_norm : bool, default=True
        Whether hidden layers are batch-normalised.

    numerical_embedding : {"periodic"} or None, default="periodic"
        :class:`skneighbors.nn.PeriodicEmbedding` of every feature before the
        first layer, or the scaled features as they are. Not used with a
        `feature_extractor`.

    feature_extractor : callable or None, default=None
        Called without arguments, returns a :class:`torch.nn.Module` that maps
        X of shape (b, ...) to features of shape (b, p); a copy of it is trained
        with the rest. X may then have more than two dimensions and is not scaled.

    dropout : float or "auto", default="auto"
        Share of the hidden units dropped in training, in [0, 1). ``"auto"``: 0; and where
        fewer than 500 distinct rows are given and that training is stopped because it
        harms (see Notes), 0.2 in another one, whose networks
        join those of the first.

    batch_size : int, default=256
        Largest number of rows drawn to be predicted in one step of the optimiser; one
        more where a batch of a single row would be left. Those that they bring (see
        `context_neighbors`) come on top.

    learning_rate : {"cycles", "constant"}, default="cycles"
        ``"cycles"``: four cosine cycles of growing length over the training.
        ``"constant"``: `learning_rate_init` throughout.

    learning_rate_init : float, default=1e-2
        Peak learning rate of AdamW.

    weight_decay : float, default=0.1
        Weight decay of AdamW.

    ema_decay : float or None, default=0.99
        Decay, for every step, of the exponential moving average of the weights
        that is validated and kept; None to keep the weights themselves.

    n_estimators : int, default=2
        Number of networks trained side by side, each with initial weights,
        batches and validation rows of its own; twice as many where ``trend="auto"`` adds
        some without a trend, and twice as many again where ``dropout="auto"`` adds a
        training. Predictions are their mean, weighted by `estimator_weights_`.

    n_candidates : int or None, default=None
        Number of rows nearest in the embedding, found through an index, that a
        prediction looks at; a random sample of 64 times as many stands for all
        others. For banks of a hundred thousand rows and more. None: all rows,
        exactly. Read at prediction alone, so that ``set_params`` can change it on a
        fitted estimator.

    algorithm : {"auto", "brute", "ivf", "hnsw"}, default="auto"
        How candidates are found, by FAISS where it is installed (on the CPU, in
        single precision, in as many threads as it likes) and otherwise by
        scikit-learn. ``"brute"``: among all rows. ``"ivf"``: in an inverted file.
        ``"hnsw"``: in a hierarchical graph, slow to build. ``"auto"``: ``"ivf"``
        from 50,000 rows on, if FAISS is installed and the similarity is not
        ``"l1"``; else ``"brute"``.

    max_iter : int or "auto", default="auto"
        Largest number of epochs. ``"auto"``: 104, or as many as make 1,000
        steps, 1,500 with fewer than 1,000 rows left to train on, if that is more;
        divided by how often an epoch predicts a row, in the mean, where rows bring
        others: twice, or less with a `context_size` below `batch_size` (see
        `context_neighbors`).

    early_stopping : bool or "auto", default="auto"
        Whether to set rows aside for validation and keep the weights of the
        validated epoch that predicts them best; otherwise those of the epoch of
        lowest training loss. ``"auto"``: from 100 distinct rows on, and they are
        trained on as well in the end where that is safe and pays; see Notes. Rows set
        aside are neighbours all the same once the training is over.

    validation_fraction : float or "auto", default="auto"
        Share of the rows set aside for validation. ``"auto"``: 0.15, but no more
        than 1,024 rows.

    n_iter_no_change : int or None, default=None
        Number of epochs without a gain of `tol` after which training stops.
        None: at `max_iter`, or earlier with ``early_stopping="auto"``; see Notes.

    tol : float, default=0.0
        Smallest gain in the mean squared error of the standardised targets, of
        the validation rows if there are any, that `n_iter_no_change` counts.

    device : str, default="auto"
        ``"auto"`` (CUDA where usable, else the CPU), ``"cpu"``, ``"cuda"`` or
        ``"cuda:N"``. A fitted estimator holds CPU arrays, and predicts on the
        CPU where the device is missing.

    random_state : int, RandomState instance or None, default=None
        Seed of the initial weights, the batches and the validation split. The
        same seed gives the same bits on a CPU.

    verbose : bool or int, default=0
        1: a progress bar with the validation score, which needs `tqdm`.
        0: silence.

    Attributes
    ----------
    loss_curve_ : list of float
        Training loss of every epoch: mean squared error of the standardised
        targets over rows and members, each row left out of its own neighbours. With
        near rows (see `context_neighbors`) it is estimated from a weighted sample.

    validation_scores_ : list of float or None
        R2 on the validation rows, the mean over the members, after each epoch that
        was validated, as long as rows are set aside, before ``sharpness="auto"`` is chosen.
        None without validation.

    validation_iters_ : list of int or None
        Those epochs, counted from 1: every one if `n_iter_no_change` is given or
        `max_iter` is below 32. Else some 20 to 130 of up to 1,500, the first and last among
        them, and with ``learning_rate="cycles"`` otherwise none whose rate is above
        half of its peak.

    n_iter_ : int
        Number of epochs run; those of a training repeated on all rows and of one that
        ``dropout="auto"`` adds are counted neither here nor in the curves.

    best_iter_ : int
        Epoch, counted from 1, whose weights are kept: the best, or the last if the last
        cycle trained on all rows. If the networks were trained again on all rows
        instead, the best epoch before, whose number of steps they then took.

    estimator_weights_ : ndarray of shape (n_networks,)
        Weight of each network in a prediction; they sum to 1. All are equal unless
        there are several kinds: where ``trend="auto"`` has trained two, those with a
        trend come first, and where ``dropout="auto"`` has trained twice, the kinds of
        the first training do. Kinds weigh inversely as the mean squared errors of their
        validation rows, at the best epoch before any of these are trained on and before
        ``sharpness="auto"`` is chosen.

    hidden_layer_sizes_ : tuple of int
        Widths of the hidden layers: what ``"auto"`` came to.

    dropout_ : ndarray of shape (n_networks,)
        Share of the hidden units dropped in the training of each network.

    sharpness_ : ndarray of shape (n_networks,)
        What each network's temperature is divided by in prediction.

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
    skneighbors.nn.NONA : The head, for a network of your own.
    sklearn.neighbors.KNeighborsRegressor : Neighbours in the given features.

    Notes
    -----
    Features are scaled robustly and clipped smoothly, targets are standardised;
    both take sample weights into account. Training is in float32, prediction in
    float64, but for the sample that `n_candidates` leaves the far rows to.

    With ``early_stopping="auto"`` a training of at least 1,000 steps, 1,500 with
    fewer than 1,000 rows left to train on (as `max_iter` counts them: down to half
    as many where rows bring others) with ``learning_rate="cycles"`` and without
    `n_iter_no_change` is watched by the rows set aside. If their error exceeds its
    best by more than a standard error and R2 is below 0.85 at the end of the
    learning rate's second cycle (3/15 of the epochs), or below 0.95 at that of the
    third (7/15), training stops there, if it overfits: if the loss is below three
    quarters of that error. If R2 is at least 0.95 at the end of the
    third, the error does not exceed its best so far and there are fewer than 2,000
    rows, the last cycle trains on all and its last weights are kept. If neither,
    the best epoch is kept; and if it was before the last cycle and there are fewer
    than 5,000 rows, the networks are trained again on all rows, from the same
    initial weights and for as many steps.

    The paper's own model is the setting ``dict(similarity="l2", softstep="s2",
    softstep_parameters="pointwise", temperature=None, trend=None, sharpness=1.0,
    context_size=None, hidden_layer_sizes=(200,), embedding_dim=25,
    activation="tanh", batch_norm=False, numerical_embedding=None, dropout=0.0,
    batch_size=32, learning_rate="constant", learning_rate_init=1e-3,
    weight_decay=0.0, ema_decay=None, n_estimators=1, max_iter=200,
    early_stopping=True, validation_fraction=0.15, n_iter_no_change=10)``.

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
    >>> weights, rows = model.top_neighbors(X[250:], n_neighbors=3)
    >>> rows.shape
    (50, 3)
    """

    _parameter_constraints: dict = {
        **BaseNeighborRegressor._parameter_constraints,
        "softstep": [StrOptions(set(SOFTSTEP_FUNCTIONS)), None],
        "trend": [StrOptions({"auto", "linear"}), None],
    }

    def __init__(
        self,
        *,
        similarity="l2",
        softstep="s2",
        softstep_parameters="pointwise",
        trend="auto",
        hidden_layer_sizes="auto",
        embedding_dim=64,
        feature_extractor=None,
        n_estimators=2,
        max_iter="auto",
        batch_size=256,
        learning_rate_init=1e-2,
        weight_decay=0.1,
        early_stopping="auto",
        validation_fraction="auto",
        n_candidates=None,
        algorithm="auto",
        recipe=None,
        device="auto",
        random_state=None,
        verbose=0,
    ):
        self.similarity = similarity
        self.softstep = softstep
        self.softstep_parameters = softstep_parameters
        self.trend = trend
        self.hidden_layer_sizes = hidden_layer_sizes
        self.embedding_dim = embedding_dim
        self.feature_extractor = feature_extractor
        self.n_estimators = n_estimators
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.learning_rate_init = learning_rate_init
        self.weight_decay = weight_decay
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_candidates = n_candidates
        self.algorithm = algorithm
        self.recipe = recipe
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def _make_head(self, recipe, n_targets, trend):
        return NONA(
            recipe.embedding_dim,
            n_targets,
            similarity=self.similarity,
            softstep=self.softstep,
            softstep_parameters=self.softstep_parameters,
            temperature=recipe.temperature,
            trend=trend,
            sharpness=1.0 if recipe.sharpness is None else recipe.sharpness,
            eps=recipe.eps,
        )

"""Nearness of neighbors attention as an estimator."""

from sklearn.utils._param_validation import StrOptions

from ._base import BaseNeighborRegressor
from .nn import NONA
from .nn._softstep import SOFTSTEP_FUNCTIONS


class NONARegressor(BaseNeighborRegressor):
    """X"""

    _parameter_constraints: dict = {
        **BaseNeighborRegressor._parameter_constraints,
        "softstep": [StrOptions(set(SOFTSTEP_FUNCTIONS)), None],
    }

    def __init__(
        self,
        *,
        similarity="l2",
        softstep="s2",
        softstep_parameters="pointwise",
        temperature=1.0,
        trend="linear",
        context_size=1024,
        hidden_layer_sizes=(256, 256),
        embedding_dim=64,
        activation="silu",
        batch_norm=True,
        numerical_embedding="periodic",
        feature_extractor=None,
        dropout=0.0,
        batch_size=256,
        learning_rate="cycles",
        learning_rate_init=4e-3,
        weight_decay=0.1,
        max_iter="auto",
        early_stopping="auto",
        validation_fraction=0.15,
        n_iter_no_change=None,
        tol=0.0,
        device="auto",
        random_state=None,
        verbose=0,
    ):
        self.similarity = similarity
        self.softstep = softstep
        self.softstep_parameters = softstep_parameters
        self.temperature = temperature
        self.trend = trend
        self.context_size = context_size
        self.hidden_layer_sizes = hidden_layer_sizes
        self.embedding_dim = embedding_dim
        self.activation = activation
        self.batch_norm = batch_norm
        self.numerical_embedding = numerical_embedding
        self.feature_extractor = feature_extractor
        self.dropout = dropout
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.learning_rate_init = learning_rate_init
        self.weight_decay = weight_decay
        self.max_iter = max_iter
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def _make_head(self, n_targets):
        return NONA(
            self.embedding_dim,
            n_targets,
            similarity=self.similarity,
            softstep=self.softstep,
            softstep_parameters=self.softstep_parameters,
            temperature=self.temperature,
            trend=self.trend,
        )

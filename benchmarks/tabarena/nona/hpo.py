"""What TabArena's random search varies, the four parameters to try first at the top."""

from __future__ import annotations

from autogluon.common.space import Categorical, Real
from tabarena.models.nona.model import NONAModel
from tabarena.utils.config_utils import ConfigGenerator

search_space = {
    "n_neighbors": Categorical(80, 10, 20, 40, 160),
    "n_estimators": Categorical(2, 4),
    "hidden_layer_sizes": Categorical([256, 256], [256, 256, 256, 256], [512, 512]),
    "blend": Categorical("auto", None),
    "trend": Categorical("auto", None),
    "learning_rate_init": Real(3e-3, 3e-2, default=1e-2, log=True),
    "weight_decay": Real(1e-2, 1.0, default=0.1, log=True),
    "recipe__dropout": Real(0.0, 0.3, default=0.0),
    "recipe__numerical_embedding": Categorical("periodic", None),
    "recipe__activation": Categorical("silu", "relu"),
}

gen_nona = ConfigGenerator(
    model_cls=NONAModel,
    search_space=search_space,
    manual_configs=[{}],
)

"""The estimator as AutoGluon, and so TabArena, fits it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

from autogluon.core.models import AbstractModel
from autogluon.core.utils.exceptions import TimeLimitExceeded

if TYPE_CHECKING:
    import pandas as pd

MIB = 2**20


class NONAModel(AbstractModel):
    """Regression by nearness of neighbors attention in a learned embedding.

    A prediction is a mean of a few training rows' targets, each adjusted by what a trend and
    boosted trees differ between both rows. Networks and trees are parts of one estimator, fitted
    by one call. Hyperparameters are those of ``skneighbors.NONARegressor``, with fields of its
    recipe as ``recipe__dropout``.

    Paper: Nearness of Neighbors Attention for Regression in Supervised Fine-Tuning
    Authors: Susman, Suarez-Farinas and Colonel (of the paper, not of the code)
    Codebase: skneighbors
    License: BSD-3-Clause
    """

    ag_key = "TA-NONA"
    ag_name = "TA-NONA"
    ag_priority = 65
    seed_name = "random_state"
    _supported_problem_types: ClassVar[list[str]] = ["regression"]
    _default_auxiliary_params_extra: ClassVar[dict] = {
        "valid_raw_types": ["bool", "int", "float", "category"],
    }
    default_resources_physical_cores_only = True
    # No AbstractTorchModel: between calls the estimator holds nothing on a device to move.
    warmup_modules: ClassVar[tuple[str, ...]] = ("torch", "skneighbors")
    cheap_hyperparameters: ClassVar[dict] = {"max_iter": 2}

    def _fit(
        self,
        X: pd.DataFrame,
        y: pd.Series,
        X_val: pd.DataFrame | None = None,
        y_val: pd.Series | None = None,
        time_limit: float | None = None,
        num_cpus: int = 1,
        num_gpus: float = 0,
        **kwargs,
    ) -> None:
        start = time.time()
        from skneighbors import NONARegressor

        params = self._get_model_params()
        # Categories and missing values stay: the estimator reads them by the columns' dtypes.
        X = self.preprocess(X, y=y, is_train=True)
        validation = {}
        if X_val is not None:
            # They choose epoch, temperature and the trees' weight, and are not trained on. Tuples
            # say that no search has cut them, should they be as many as those of X.
            validation = {"X_val": (self.preprocess(X_val),), "y_val": (y_val,)}
        # Without them, as in refit_full, the estimator holds rows out by itself.
        if time_limit is not None:
            left = 0.95 * time_limit - (time.time() - start)
            if left <= 0:
                raise TimeLimitExceeded
            params["max_time"] = min(left, params.get("max_time") or left)
        device = "cuda" if num_gpus else "cpu"
        self.model = NONARegressor().set_params(**params, n_jobs=int(num_cpus), device=device)
        self.model.fit(X, y, **validation)

    @classmethod
    def _estimate_memory_usage_static(
        cls,
        *,
        X: pd.DataFrame,
        hyperparameters: dict | None = None,
        **kwargs,
    ) -> int:
        """Bytes for libraries, rows' embeddings, copies of cells, and networks' weights by column.

        More than the resident memory of default fits of 1,000 to 40,000 rows, 10 to 500 columns
        of numbers, and 20 of categories (one or two threads).
        """
        n_networks = (hyperparameters or {}).get("n_estimators", "auto")
        if n_networks == "auto":
            n_networks = 4 if len(X) < 500 else 2
        n_numbers = X.select_dtypes("number").shape[1]
        n_columns = n_numbers + 8 * (X.shape[1] - n_numbers)  # one-hot, or a vector
        per_network = 2048 * len(X) + MIB * n_columns // 3
        return int(600 * MIB + 64 * len(X) * n_columns + n_networks * per_network)

    def _more_tags(self) -> dict:
        return {"can_refit_full": True}

"""What MLflow logs of our estimators: models that predict the same, and no run of a part of ours.

Usage: pip install mlflow skops; python benchmarks/mlflow_check.py

Too heavy for the tests. Prints a line for each check, and raises where one fails.
"""

import os
import tempfile
import warnings

import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skneighbors import NONARegressor, SoftStepKNNRegressor


def names_of_runs(client):
    """Names of the estimators whose runs are logged, sorted."""
    ids = [experiment.experiment_id for experiment in client.search_experiments()]
    return sorted(run.data.tags.get("estimator_name", "") for run in client.search_runs(ids))


def main():
    os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
    import mlflow
    import mlflow.sklearn
    import skops.io

    warnings.simplefilter("ignore")
    X, y = make_friedman1(200, random_state=0)
    with tempfile.TemporaryDirectory() as folder:
        mlflow.set_tracking_uri(f"file://{folder}/runs")
        mlflow.set_experiment("check")
        for kind in (NONARegressor, SoftStepKNNRegressor):
            model = kind(max_iter=3, random_state=0).fit(X, y)
            trusted = skops.io.get_untrusted_types(data=skops.io.dumps(model))
            with mlflow.start_run():
                uri = mlflow.sklearn.log_model(
                    model, name="model", skops_trusted_types=trusted
                ).model_uri
            again = mlflow.sklearn.load_model(uri)
            np.testing.assert_array_equal(again.predict(X), model.predict(X))
            print(f"{kind.__name__}: logged, and predicts the same")
        client, before = mlflow.MlflowClient(), ["", ""]
        mlflow.sklearn.autolog(silent=True, log_models=False)
        model = NONARegressor(max_iter=2, random_state=0)
        model.fit(X, y).kneighbors(X[:3])
        assert names_of_runs(client) == before
        make_pipeline(StandardScaler(), model).fit(X, y)
        assert names_of_runs(client) == [*before, "Pipeline"]
        GridSearchCV(model, {"n_neighbors": [5, 9]}, cv=2).fit(X, y)
        searched = ["GridSearchCV", "NONARegressor", "NONARegressor", "Pipeline"]
        assert names_of_runs(client) == [*before, *searched]
        print("autolog: no run of a part of ours")


if __name__ == "__main__":
    main()

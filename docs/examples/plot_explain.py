"""
How do I explain a prediction to a colleague?
=============================================

A prediction is made from labelled rows. Name them: here, the patients behind the expected
progression of another patient's diabetes.
"""

from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from skneighbors import SoftStepKNNRegressor
from skneighbors.inspection import NeighborsDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# %%
# :class:`~skneighbors.SoftStepKNNRegressor` rests on few rows, which makes for short explanations.
# With ``trend=None`` a prediction is the weighted mean of their targets, and nothing else.

model = SoftStepKNNRegressor(trend=None, random_state=0).fit(X_train, y_train)
print(f"R2 on the test rows: {model.score(X_test, y_test):.2f}")
print(f"rows behind a prediction: {model.effective_n_neighbors(X_test).mean():.0f}")

# %%
# :meth:`~skneighbors.SoftStepKNNRegressor.explain` takes the prediction apart. The contributions
# and the trend, here the mean of all targets, sum to it.

query = X_test.iloc[[0]]
explanation = model.explain(query, n_neighbors=10)
print(explanation)

# %%
# The same as a picture. Most of these patients did worse than the mean, and so will this one,
# says the model.

_ = NeighborsDisplay.from_estimator(model, query)

# %%
# Who are they? The numbers are those of the rows given to ``fit``. A colleague can judge now
# whether these patients are good company for the one in question, at the top.

columns = ["age", "bmi", "bp", "s5"]
neighbours = X_train.iloc[explanation.samples[0]][columns].assign(
    weight=explanation.weights[0].round(3), target=explanation.targets[0]
)
print(query[columns].to_string(index=False))
print()
print(neighbours.to_string(index=False))

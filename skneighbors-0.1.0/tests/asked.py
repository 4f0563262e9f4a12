"""What may be asked of a fitted regressor, which several files of tests share."""

QUESTIONS = {
    "predict": lambda model, X: [model.predict(X), *model.predict(X, return_std=True)],
    "predict_quantiles": lambda model, X: [model.predict_quantiles(X)],
    "predict_interval": lambda model, X: [model.predict_interval(X, 0.8)],
    "transform": lambda model, X: [model.transform(X)],
    "novelty": lambda model, X: [model.novelty(X)],
    "suspects": lambda model, X: [model.suspects().scores, model.suspects().interval],
    "kneighbors": lambda model, X: [*model.kneighbors(X), *model.kneighbors()],
    "neighbor_weights": lambda model, X: [model.neighbor_weights(X).toarray()],
    "effective_n_neighbors": lambda model, X: [model.effective_n_neighbors(X)],
    "explain": lambda model, X: [model.explain(X).weights, model.explain(X).adjustments],
}


def answers(model, X):
    """Arrays of all answers."""
    return [part for ask in QUESTIONS.values() for part in ask(model, X)]

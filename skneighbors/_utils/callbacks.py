"""Callbacks, as scikit-learn's estimators call them from its version 1.9 on."""

from .sklearn_private import CALLBACKS


class FitCallbacks:
    """An estimator's callbacks in one fit: a task, whose subtasks are the epochs.

    Does nothing for an estimator without any. An epoch that fails has no end.

    Parameters
    ----------
    estimator : BaseEstimator or None, default=None
    X, y, sample_weight : array-like, default=None
        As given to its ``fit``.

    Attributes
    ----------
    finish : callable
        Makes of a network and a history all attributes that the fit would leave.
    """

    def __init__(self, estimator=None, X=None, y=None, sample_weight=None):
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self._given = dict(estimator=estimator, X=X, y=y, metadata=metadata)
        self._estimator = estimator
        self._fit = self._epoch = None
        self.finish = None

    def begin(self, n_epochs):
        """Begin the fit, of at most so many epochs."""
        if hasattr(self._estimator, CALLBACKS):
            self._fit = self._estimator._init_callback_context(max_subtasks=n_epochs)
            self._fit.call_on_fit_task_begin(**self._given)

    def begin_epoch(self, name):
        """Begin a task of this name."""
        if self._fit is not None:
            self._epoch = self._fit.subcontext(task_name=name)
            self._epoch.call_on_fit_task_begin(**self._given)

    def end_epoch(self, curves, copy_network, history):
        """End the task.

        Parameters
        ----------
        curves : dict
            Attributes of all epochs so far; the estimator gets them at once.
        copy_network : callable
            Returns the network, as it would be kept if the fit ended here.
        history : TrainingHistory

        Returns
        -------
        stop : bool
            Whether a callback wants it to.
        """
        if self._fit is None:
            return False
        vars(self._estimator).update(curves)
        return self._epoch.call_on_fit_task_end(
            **self._given, reconstruction_attributes=lambda: self.finish(copy_network(), history)
        )

    def end(self):
        """End the fit, all attributes of which are there."""
        if self._fit is not None:
            self._fit.call_on_fit_task_end(**self._given, reconstruction_attributes={})

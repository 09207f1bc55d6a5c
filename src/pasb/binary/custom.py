"""Your own binary model, in plain NumPy.

`CustomBinary` asks for three things: the log-probabilities, a draw from the prior, and one
exact update of the parameters given rows and labels. It does the rest: which rows inform
a stick, imputed labels, random numbers that make runs repeat, kept draws, predictions.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import BinaryModel, BinarySampler, Index, Keys, Parameters
from pasb.numerics.rows import BLOCK, TILE, Rows, linear_predictors, padded, unblocked
from pasb.sticks import ABSENT, IMPUTED, SUCCESS

Logs = tuple[NDArray[np.float64], NDArray[np.float64]]

# Layers of the stream
UPDATE, PRIOR, START = np.int64(0), np.int64(1), np.int64(2)


class CustomBinary(BinaryModel):
    """Base class of binary models that users write.

    Implement `simulate`, `update` and either `link` (probabilities that depend on x'coef
    alone) or `log_success_and_failure` (any others). Hyperparameters go into ``__init__``,
    which only stores them, as in scikit-learn. Chains run in threads and share the model,
    so methods must not store anything on ``self``.

    Parameters of one category are a dictionary of float arrays whose names and shapes never
    change; `simulate` sets them. ``pasb.testing.check_binary_model`` tests a model.

    Attributes
    ----------
    kept : tuple of str
        The parameters that predictions need; only these are stored with each draw.
    axes : dict of tuples of str
        Names of the axes of kept parameters, for `posterior_`; "column" stands for the
        covariates, the constant first. A `coef` of another shape than (n_columns,) needs one.
    weighted : bool
        Whether `update` takes real-valued row weights. If so it is called with a fifth
        argument, the weights, and must treat each row's likelihood to that power.

    Examples
    --------
    Logistic regression by a random walk:

    >>> import numpy as np
    >>> from pasb import CustomBinary, StickBreakingClassifier
    >>> class Walk(CustomBinary):
    ...     def simulate(self, n_columns, rng):
    ...         return {"coef": rng.normal(size=n_columns)}
    ...     def link(self, eta):
    ...         return -np.logaddexp(0, -eta), -np.logaddexp(0, eta)
    ...     def log_posterior(self, coef, X, labels):
    ...         success, failure = self.link(X @ coef)
    ...         return np.where(labels, success, failure).sum() - coef @ coef / 2
    ...     def update(self, parameters, X, labels, rng):
    ...         old = parameters["coef"]
    ...         new = old + 0.3 * rng.normal(size=len(old))
    ...         gain = self.log_posterior(new, X, labels) - self.log_posterior(old, X, labels)
    ...         return {"coef": new if np.log(rng.random()) < gain else old}
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = StickBreakingClassifier(
    ...     binary=Walk(), n_warmup=200, n_draws=200, random_state=1
    ... ).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    """

    kept: tuple[str, ...] = ("coef",)
    axes: ClassVar[dict[str, tuple[str, ...]]] = {"coef": ("column",)}
    weighted: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        """Forget the axes of parameters that the subclass does not keep."""
        super().__init_subclass__()
        cls.axes = {name: axes for name, axes in cls.axes.items() if name in cls.kept}

    def link(self, eta: NDArray[np.float64]) -> Logs:
        """Logs of success and failure, elementwise, from linear predictors of any shape.

        For models whose probabilities depend on x'coef alone. Both must be finite for every
        finite `eta` that may occur: compute them in logs.
        """
        raise NotImplementedError(
            f"{type(self).__name__} needs a method link(eta) or "
            "log_success_and_failure(parameters, X)"
        )

    def log_success_and_failure(
        self, parameters: Mapping[str, NDArray], X: NDArray[np.float64]
    ) -> Logs:
        """Logs of success and failure of each row of `X`, for one category's parameters.

        Parameters
        ----------
        parameters : dict of arrays
            Those in `kept`, perhaps others.
        X : array of shape (n_rows, n_columns)
            Standardised covariates, the constant column first.

        Returns
        -------
        log_success, log_failure : array of shape (n_rows,)
        """
        return self.link(X @ parameters["coef"])

    @abstractmethod
    def simulate(self, n_columns: int, rng: np.random.Generator) -> Parameters:
        """Draw one category's parameters from the prior."""

    @abstractmethod
    def update(
        self,
        parameters: Parameters,
        X: NDArray[np.float64],
        labels: NDArray[np.float64],
        rng: np.random.Generator,
    ) -> Parameters:
        """One update that leaves the posterior of the parameters given the labels invariant.

        Parameters
        ----------
        parameters : dict of arrays
            Where the chain stands; a copy, which may be changed.
        X : array of shape (n_rows, n_columns)
            The rows that inform the stick; there may be none.
        labels : array of shape (n_rows,)
            1.0 for success, 0.0 for failure.
        rng : numpy.random.Generator
            The only source of random numbers.

        Returns
        -------
        dict of arrays
            All parameters, with the names and shapes that `simulate` gives.
        """

    def start(self, n_columns: int, rng: np.random.Generator) -> Parameters:
        """Parameters to start a chain from; a draw from the prior unless overridden."""
        return self.simulate(n_columns, rng)

    def check(self) -> None:
        """Raise a ValueError that names the first impossible hyperparameter."""

    def sampler(self, rows: Rows) -> CustomSampler:  # noqa: D102
        return CustomSampler(self, rows)

    def shapes(self, n_columns: int) -> dict[str, tuple[int, ...]]:  # noqa: D102
        parameters = _as_arrays(self, self.simulate(n_columns, _generator(0)), "simulate")
        for name in self.kept:
            if name not in parameters:
                raise ValueError(
                    f"{type(self).__name__}.kept names {name!r}, but simulate gives only "
                    f"{', '.join(map(repr, parameters)) or 'an empty dictionary'}"
                )
        return {name: parameters[name].shape for name in self.kept}

    def log_probabilities(  # noqa: D102
        self, parameters: Mapping[str, NDArray], blocks: NDArray[np.float64]
    ) -> Logs:
        kept = {name: np.asarray(parameters[name]) for name in self.kept}
        n_draws, n_categories = next(iter(kept.values())).shape[:2]
        n_rows = len(blocks) * BLOCK
        shape = (n_draws, n_categories, n_rows)
        if type(self).log_success_and_failure is CustomBinary.log_success_and_failure:
            coef = kept["coef"]
            eta = np.empty((n_draws * n_categories, n_rows))
            linear_predictors(blocks, padded(coef.reshape(len(eta), -1), blocks.shape[1]), eta)
            return _checked_logs(self, self.link(eta.reshape(shape)), shape)
        X = unblocked(blocks, n_rows, blocks.shape[1])[:, : self._n_columns(kept, blocks)]
        log_success, log_failure = np.empty(shape), np.empty(shape)
        for d in range(n_draws):
            for s in range(n_categories):
                one = {name: values[d, s] for name, values in kept.items()}
                logs = self.log_success_and_failure(one, X)
                log_success[d, s], log_failure[d, s] = _checked_logs(self, logs, (n_rows,))
        return log_success, log_failure

    def _n_columns(self, kept: Mapping[str, NDArray], blocks: NDArray) -> int:
        """Number of covariates, which the padded blocks do not tell: that of the shapes."""
        given = {name: values.shape[2:] for name, values in kept.items()}
        for n_columns in range(blocks.shape[1], blocks.shape[1] - TILE, -1):
            if self.shapes(n_columns) == given:
                return n_columns
        raise ValueError(f"the parameters do not have the shapes of {type(self).__name__}")


class CustomSampler(BinarySampler):
    """Turns a user's update of one stick into the sampler of all categories."""

    concurrent = True  # a model stores nothing on itself

    def __init__(self, model: CustomBinary, rows: Rows):
        if not model.weighted and not np.isin(rows.weights, (0.0, 1.0)).all():
            raise ValueError(
                "sample_weight must be 0 or 1, and class_weight None: the update of "
                f"{type(model).__name__} takes no other weights (weighted = True would say so)"
            )
        self.model = model
        self.n_categories, self.n_columns = rows.n_categories, rows.n_columns
        self.n_groups = rows.n_groups
        used = rows.weights > 0
        self.X = unblocked(rows.blocks, rows.n_rows, rows.n_columns)[used]
        self.weights, self.groups = rows.weights[used], rows.group_of_rows[used]
        self.guards: dict[str, int] = {}

    def start(self, keys: Keys) -> Parameters:  # noqa: D102
        each = [
            _as_arrays(self.model, self.model.start(self.n_columns, _rng(keys, s, START)), "start")
            for s in range(self.n_categories)
        ]
        return {name: np.stack([one[name] for one in each]) for name in each[0]}

    def resume(self, parameters: Parameters) -> None:
        """Nothing to rebuild: there is no work space."""

    def update(  # noqa: D102
        self, parameters: Parameters, category: int, stick: int, roles: NDArray[np.int8], keys: Keys
    ) -> None:
        rng = _rng(keys, stick, UPDATE)
        one = {name: values[category].copy() for name, values in parameters.items()}
        part = roles[self.groups]
        used = part != ABSENT
        part, X = part[used], self.X[used]
        labels = (part == SUCCESS).astype(np.float64)
        imputed = part == IMPUTED
        if imputed.any():
            log_success, _ = self._logs(one, X[imputed])
            labels[imputed] = np.log1p(-rng.random(len(log_success))) < log_success
        extra = (self.weights[used],) if self.model.weighted else ()
        self._write(parameters, category, self.model.update(one, X, labels, rng, *extra), "update")

    def draw_prior(self, parameters: Parameters, category: int, stick: int, keys: Keys) -> None:  # noqa: D102
        drawn = self.model.simulate(self.n_columns, _rng(keys, stick, PRIOR))
        self._write(parameters, category, drawn, "simulate")

    def log_sums(  # noqa: D102
        self, parameters: Parameters, success: NDArray[np.float64], failure: NDArray[np.float64]
    ) -> None:
        for j in range(self.n_categories):
            one = {name: values[j] for name, values in parameters.items()}
            for out, logs in zip((success, failure), self._logs(one, self.X), strict=True):
                out[j] = np.bincount(self.groups, self.weights * logs, self.n_groups)

    def _logs(self, one: Parameters, X: NDArray[np.float64]) -> Logs:
        logs = self.model.log_success_and_failure(one, X)
        return _checked_logs(self.model, logs, (len(X),))

    def _write(self, parameters: Parameters, category: int, new: Parameters, origin: str) -> None:
        """Copy one category's parameters into the state, if they fit."""
        new = _as_arrays(self.model, new, origin)
        name = type(self.model).__name__
        if new.keys() != parameters.keys():
            raise ValueError(
                f"{name}.{origin} returned the parameters {sorted(new)}, not {sorted(parameters)}"
            )
        for key, values in new.items():
            if values.shape != parameters[key].shape[1:]:
                raise ValueError(
                    f"{name}.{origin} returned {key!r} with the shape {values.shape}, "
                    f"not {parameters[key].shape[1:]}"
                )
            if not np.isfinite(values).all():
                raise ValueError(f"{name}.{origin} returned {key!r} with values not finite")
            parameters[key][category] = values


def _generator(key: int | np.uint64) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=int(key)))


def _rng(keys: Keys, stick: Index, purpose: Index) -> np.random.Generator:
    return _generator(keys.at(stick, purpose=purpose))


def _as_arrays(model: CustomBinary, parameters: object, origin: str) -> Parameters:
    """What a user's method returned, as float arrays."""
    name = f"{type(model).__name__}.{origin}"
    if not isinstance(parameters, Mapping):
        raise TypeError(f"{name} must return a dictionary of arrays, not {parameters!r}")
    try:
        return {str(k): np.array(v, dtype=np.float64) for k, v in parameters.items()}
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must return a dictionary of float arrays: {error}") from None


def _checked_logs(model: CustomBinary, logs: object, shape: tuple[int, ...]) -> Logs:
    name = type(model).__name__
    if not isinstance(logs, tuple) or len(logs) != 2:
        raise TypeError(f"{name} must return two arrays, the logs of success and of failure")
    success, failure = (np.asarray(part, dtype=np.float64) for part in logs)
    if success.shape != shape or failure.shape != shape:
        raise ValueError(
            f"{name} returned log-probabilities of the shapes {success.shape} and "
            f"{failure.shape}, not {shape}"
        )
    return success, failure

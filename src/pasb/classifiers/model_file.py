"""Fitted models on disk: numeric arrays and JSON, versioned and checksummed."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

import pasb
from pasb import binary
from pasb.binary import BinaryModel
from pasb.classifiers.choice_classifier import StickChoiceClassifier
from pasb.classifiers.saved_formulas import formula_to_json
from pasb.classifiers.saved_pipelines import encoded_model, rebuilt_pipeline
from pasb.classifiers.stick_classifier import StickClassifier
from pasb.classifiers.stored_draws import packed, unpacked
from pasb.covariates.named_priors import from_json as prior_from_json
from pasb.covariates.named_priors import to_json as prior_to_json
from pasb.covariates.scaling import checked_ranges
from pasb.errors import ConvergenceWarning, FileFormatError
from pasb.posterior.compact import Compactness
from pasb.posterior.diagnostics import Diagnostics
from pasb.posterior.fitted import MOST_WATCHED, WatchedRows
from pasb.sampling.draws import Draws, Ending
from pasb.storage import store

KIND = "model"

# A file can hold only these; nothing in it is imported by name.
CLASSIFIERS = {
    name: getattr(pasb, name)
    for name in (
        "StickBreakingClassifier",
        "StickLogisticClassifier",
        "StickRobitClassifier",
        "StickSVMClassifier",
        "SoftplusClassifier",
        "StackedSoftplusClassifier",
    )
} | {"StickChoiceClassifier": StickChoiceClassifier}
BINARY_MODELS: dict[str, type[BinaryModel]] = {
    name: getattr(binary, name) for name in ("Logistic", "Robit", "Softplus", "SupportVector")
}

# Settings of a run that make no sense in a file.
_LEFT_OUT = ("callbacks", "checkpoint", "n_jobs", "progress")
_LABEL_KINDS = {"U": "str", "i": "int", "u": "uint", "f": "float", "b": "bool"}

GREATEST_COEF = 1e150  # no chain comes near, and sums of products must not overflow


def save(model: Any, path: str | os.PathLike) -> None:
    """Write a fitted classifier, a pipeline of a `TableEncoder` and one, or a formula's model.

    Parameters
    ----------
    model : classifier, Pipeline or FormulaClassifier
    path : path
        Read it back with `pasb.load`.

    Raises
    ------
    TypeError
        For other classifiers and pipelines: a file holds numbers and JSON only.

    Examples
    --------
    >>> import pasb, tempfile, os
    >>> import pandas as pd
    >>> from sklearn.pipeline import make_pipeline
    >>> table = pd.DataFrame({"colour": ["red", "blue"] * 20, "size": range(40)})
    >>> model = pasb.StickLogisticClassifier(n_warmup=50, n_draws=50, random_state=1)
    >>> pipe = make_pipeline(pasb.TableEncoder(), model).fit(table, ["a", "a", "b", "b"] * 10)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.pasb")
    ...     pasb.save(pipe, path)
    ...     again = pasb.load(path)
    >>> bool((again.predict_proba(table) == pipe.predict_proba(table)).all())
    True
    """
    encoder = formula = None
    if isinstance(model, Pipeline):
        model, encoder = encoded_model(model)
    if hasattr(model, "formula") and hasattr(model, "model_"):
        formula, model = formula_to_json(model), model.model_
    name = type(model).__name__
    if CLASSIFIERS.get(name) is not type(model):
        raise TypeError(f"only pasb's own classifiers can be saved, not {name}")
    check_is_fitted(model)
    draws = model.draws_
    names = getattr(model, "feature_names_in_", None)
    meta = {
        "classifier": name,
        "parameters": {
            key: prior_to_json(value) if key == "prior" else _plain(_here(key, value))
            for key, value in model.get_params(deep=False).items()
            if key not in _LEFT_OUT
        },
        "classes": _labels_to_json(model.classes_),
        "class_counts": np.asarray(getattr(model, "class_counts_", [])).tolist(),
        "feature_names": None if names is None else [str(name) for name in names],
        "ranges": np.asarray(model._ranges).tolist(),
        "n_features": model.n_features_in_,
        "frame_library": model._frame_library,
        "directions": list(draws.directions),
        "kept": sorted(draws.parameters),
        "statistics": sorted(draws.statistics),
        "guards": draws.guards,
        "n_warmup": draws.n_warmup,
        "n_asked": draws.n_asked,
        "thin": draws.thin,
        "ended": draws.ended,
        "encoder": encoder,
        "formula": formula,
    }
    arrays = _arrays_of(model) | model.diagnostics_.arrays()
    compactness = getattr(model, "compactness_", None)
    if compactness is not None:
        meta["compactness"] = compactness.as_json()
        arrays = {key: values for key, values in arrays.items() if not key.startswith("draws_")}
        arrays |= packed(draws.parameters)
    store.write(Path(path), KIND, meta, arrays)


def _arrays_of(model: StickClassifier) -> dict[str, NDArray]:
    """What a file holds of a model beside its header and diagnostics."""
    draws = model.draws_
    return {
        "order": draws.order,
        "log_likelihood": draws.log_likelihood,
        **{f"statistics_{key}": draws.statistics[key] for key in sorted(draws.statistics)},
        **model._learned(),
        **{f"draws_{key}": values for key, values in draws.parameters.items()},
        **{
            f"monitored_{key}": values
            for key, values in model._watched._asdict().items()
            if values is not None  # where everything was available
        },
    }


def load(path: str | os.PathLike) -> Any:
    """Read a model that was written by its `save` method, by `pasb.save` or by ``pasb fit``.

    Parameters
    ----------
    path : path

    Returns
    -------
    classifier, Pipeline or FormulaClassifier
        Ready to predict, with the draws and diagnostics it was saved with. A pipeline of a
        `TableEncoder` and the classifier if it was saved as such. A model that was stopped in its
        warm-up comes with a `pasb.ConvergenceWarning`: it has no draws from the posterior.

    Raises
    ------
    pasb.errors.FileFormatError
        When the file is damaged, foreign, or of a newer version.

    Examples
    --------
    >>> import pasb, tempfile, os
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["a", "b", "a", "b"]
    >>> model = pasb.StickLogisticClassifier(n_warmup=50, n_draws=50, random_state=1).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.pasb")
    ...     model.save(path)
    ...     again = pasb.load(path)
    >>> bool((again.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    meta, arrays = store.read(Path(path), KIND)
    try:
        model = _rebuild(meta, arrays)
        whole = _around(model, meta["encoder"], meta.get("formula"))
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        reason = str(error) if len(str(error)) <= 300 else f"{str(error)[:300]}..."
        raise FileFormatError(
            f"{os.fspath(path)} is a sound file but not a model that this version of pasb "
            f"understands ({reason}); save the model again"
        ) from error
    if model.draws_.ended == "warm-up":
        told = f"{os.fspath(path)}: {model.convergence_in_words()}"
        warnings.warn(told, ConvergenceWarning, stacklevel=2)
    return whole


def _around(model: StickClassifier, encoder: Any, formula: Any) -> Any:
    """A model with what comes before it: an encoder, or a formula."""
    if formula is not None:
        from pasb.classifiers.formula import rebuilt

        return rebuilt(formula, model)
    return model if encoder is None else rebuilt_pipeline(encoder, model)


def _rebuild(meta: dict[str, Any], arrays: dict[str, NDArray]) -> StickClassifier:
    parameters = {
        key: prior_from_json(value) if key == "prior" else _unplain(value)
        for key, value in meta["parameters"].items()
    }
    model = CLASSIFIERS[meta["classifier"]](**parameters)
    model.check_settings()
    model._binary_model().check()
    model.classes_ = _labels_from_json(meta["classes"])
    if meta.get("class_counts"):  # older files have none
        model.class_counts_ = _counts(meta["class_counts"], len(model.classes_))
    model.n_features_in_ = int(meta["n_features"])
    if meta.get("ranges"):  # older files have none
        model._ranges = checked_ranges(meta["ranges"], model.n_features_in_)
    if meta["feature_names"] is not None:
        model.feature_names_in_ = np.array(meta["feature_names"], dtype=object)
    model._frame_library = str(meta["frame_library"])
    if "compactness" in meta:
        model.compactness_ = Compactness.from_json(meta["compactness"])
        arrays = unpacked(arrays)
    diagnosed = {key: arrays.pop(key) for key in [*arrays] if key.startswith("diagnostics_")}
    model._relearn(arrays)
    model._watched = WatchedRows(
        arrays["monitored_row"],
        arrays["monitored_inner"],
        arrays["monitored_category"],
        arrays.get("monitored_available"),
    )
    model.draws_ = Draws(
        parameters={key: arrays[f"draws_{key}"] for key in meta["kept"]},
        directions=tuple(meta["directions"]),
        order=arrays["order"],
        log_likelihood=arrays["log_likelihood"],
        statistics={str(key): arrays[f"statistics_{key}"] for key in meta["statistics"]},
        guards={str(key): int(count) for key, count in meta["guards"].items()},
        n_warmup=int(meta["n_warmup"]),
        n_asked=int(meta["n_asked"]),
        thin=int(meta["thin"]),
        ended=meta["ended"],
    )
    if arrays.keys() != _arrays_of(model).keys():
        raise ValueError("its arrays are not those of such a model")
    _check(model)
    # older files have no diagnostics
    model._after_sampling(warn=False, known=_diagnostics(model, diagnosed) if diagnosed else None)
    return model


def _diagnostics(model: StickClassifier, arrays: dict[str, NDArray]) -> Diagnostics:
    shape = len(model._watched.inner), len(model.classes_)
    directions = model._directions if len(model._directions) > 1 else ()
    known = Diagnostics.from_arrays(arrays, shape, directions)
    if known.arrays().keys() != arrays.keys():
        raise ValueError("its diagnostics are not those of such a model")
    return known


def _check(model: StickClassifier) -> None:
    """Refuse arrays that do not belong together, before anything indexes with them."""
    draws, n_classes = model.draws_, len(model.classes_)
    n_features, n_columns = model.n_features_in_, model._n_columns
    if len(getattr(model, "feature_names_in_", range(n_features))) != n_features:
        raise ValueError("the feature names do not fit the covariates")
    if model._frame_library not in ("pandas", "polars"):
        raise ValueError("the library for data frames is unknown")
    if draws.order.ndim != 3 or draws.order.shape[2] != n_classes or draws.order.size == 0:
        raise ValueError("the orders do not fit the classes")
    if draws.order.dtype != np.int64 or (np.sort(draws.order) != np.arange(n_classes)).any():
        raise ValueError("an order is not a permutation")
    sampled = draws.order.shape[:2]
    if len(draws.directions) != sampled[0] or set(draws.directions) != set(model._directions):
        raise ValueError("the directions do not fit the chains")
    if draws.ended not in get_args(Ending):
        raise ValueError("why the run ended is unknown")
    traces: list[tuple[NDArray, type]] = [(draws.log_likelihood, np.float64)]
    traces += [(counts, np.int32) for counts in draws.statistics.values()]
    if any(trace.shape != sampled or trace.dtype != dtype for trace, dtype in traces):
        raise ValueError("the traces are not those of a model")
    shapes = model._binary_model().shapes(n_columns)
    if draws.parameters.keys() != shapes.keys():
        raise ValueError("the parameters are not those of the binary model")
    for name, shape in shapes.items():
        values = draws.parameters[name]
        if values.dtype != np.float64 or values.shape != (*sampled, n_classes, *shape):
            raise ValueError(f"{name} has the shape {values.shape}")
        if np.isnan(values).any() or (name == "coef" and not np.isfinite(values).all()):
            raise ValueError(f"{name} is not finite")
        if name == "coef" and (np.abs(values) > GREATEST_COEF).any():
            raise ValueError("coef is so large that predictions would not be finite")
    row, inner, category, available = model._watched
    if inner.dtype != np.float64 or inner.shape[1:] != (n_columns,) or len(inner) == 0:
        raise ValueError("the watched rows do not fit the covariates")
    # their probabilities take rows x draws x classes
    if len(inner) > MOST_WATCHED or not np.isfinite(inner).all():
        raise ValueError("the watched rows are too many or not finite")
    if row.shape != inner.shape[:1] or category.shape != inner.shape[:1]:
        raise ValueError("the watched rows differ in number")
    if row.dtype.kind != "i" or not np.isin(category, np.arange(n_classes)).all():
        raise ValueError("the watched rows do not fit the classes")
    if available is not None and (
        available.dtype != np.bool_
        or available.shape != (len(inner), n_classes)
        or not available.any(axis=1).all()
    ):
        raise ValueError("what was available to the watched rows does not fit the classes")


def _counts(stored: Any, n_classes: int) -> NDArray[np.int64]:
    """The training rows of each class."""
    counts = np.array([int(n) for n in stored], dtype=np.int64)
    if len(counts) != n_classes or (counts < 0).any():
        raise ValueError("the numbers of training rows do not fit the classes")
    return counts


def _here(key: str, value: Any) -> Any:
    """A setting without a cluster, which is not there any more when a file is read."""
    return "cpu" if key == "engine" and not isinstance(value, str) else value


def _plain(value: Any) -> Any:
    """A parameter as JSON."""
    if hasattr(value, "sampler"):
        name = type(value).__name__
        if BINARY_MODELS.get(name) is not type(value):
            raise TypeError(f"binary={name} cannot be saved: only pasb's own binary models can")
        parameters = {key: _plain(item) for key, item in value.get_params().items()}
        return {"binary_model": name, "parameters": parameters}
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return {"number": str(value)}  # JSON has no infinity
    if isinstance(value, list | tuple) and any(isinstance(item, list | tuple) for item in value):
        return [_plain(list(item)) if isinstance(item, tuple) else _plain(item) for item in value]
    if isinstance(value, list | tuple) and any(isinstance(item, str) for item in value):
        return [_plain(item) for item in value]  # an array would turn numbers beside it into text
    if isinstance(value, np.ndarray | list | tuple):
        return np.asarray(value).tolist()
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return None
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Mapping):  # by class labels that are no text
        return {"pairs": [[_plain(key), _plain(item)] for key, item in value.items()]}
    return value


def _unplain(value: Any) -> Any:
    if isinstance(value, dict) and "number" in value:
        return float(value["number"])
    if isinstance(value, dict) and value.keys() == {"pairs"}:
        return {_unplain(key): _unplain(item) for key, item in value["pairs"]}
    if isinstance(value, dict) and "binary_model" in value:
        parameters = {key: _unplain(item) for key, item in value["parameters"].items()}
        return BINARY_MODELS[value["binary_model"]](**parameters)
    return value


def _labels_to_json(classes: NDArray) -> dict[str, Any]:
    kind = _LABEL_KINDS.get(classes.dtype.kind)
    labels = classes.tolist()
    if kind is None:
        if not all(isinstance(label, str) for label in labels):
            raise TypeError("class labels must be strings, numbers or booleans to be saved")
        kind = "object"
    return {"kind": kind, "labels": labels}


def _labels_from_json(stored: dict[str, Any]) -> NDArray:
    dtypes = {
        "str": np.str_,
        "int": np.int64,
        "uint": np.uint64,
        "float": np.float64,
        "bool": np.bool_,
        "object": object,
    }
    labels = stored["labels"]
    if len(set(labels)) != len(labels) or len(labels) < 2:
        raise ValueError("the class labels are not distinct")
    return np.array(labels, dtype=dtypes[stored["kind"]])

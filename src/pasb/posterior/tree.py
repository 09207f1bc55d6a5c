"""The draws with names: an `xarray.DataTree` with groups as ArviZ expects them."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pasb import __version__
from pasb.binary.panel_logistic import PanelLogistic
from pasb.posterior.fitted import Fitted
from pasb.posterior.splits import Splits
from pasb.storage.whole_file import NOT_REGULAR, is_special, temporary_name

if TYPE_CHECKING:
    import xarray

SAMPLED = ("chain", "draw")


def posterior_tree(fitted: Fitted) -> xarray.DataTree:
    """Build the tree of a fitted model; see `PosteriorMixin.posterior_`."""
    import xarray

    draws, watched = fitted.draws, fitted.watched
    splits = Splits.of(fitted)
    posterior = posterior_dataset(fitted, splits)
    stats = xarray.Dataset(
        {
            "log_likelihood_sum": (SAMPLED, draws.log_likelihood),
            **{name: (SAMPLED, counts) for name, counts in draws.statistics.items()},
        },
        coords=_chains(fitted),
    )
    observed = xarray.Dataset({"y": (("row",), watched.category)}, coords={"row": watched.row})
    constant = _about_splits(fitted, splits)
    for group in (posterior, stats, observed, constant):
        group.attrs = {
            "inference_library": "pasb",
            "inference_library_version": __version__,
            **{f"guard_{name}": count for name, count in draws.guards.items()},
        }
    return xarray.DataTree.from_dict(
        {
            "posterior": posterior,
            "sample_stats": stats,
            "observed_data": observed,
            "constant_data": constant,
        }
    )


def _about_splits(fitted: Fitted, splits: Splits) -> xarray.Dataset:
    """The class that each split takes, and how often it is made.

    As coordinates of the posterior, which some of its variables would not have, they would keep
    ArviZ from putting all variables into one table.
    """
    import xarray

    kept = splits.kept(len(fitted.classes))
    each = splits.each[:kept]
    return xarray.Dataset(
        {
            "split_class": ("split", fitted.classes[[split.category for split in each]]),
            "split_probability": ("split", splits.share[:kept]),
        },
        coords={"split": [split.label(fitted) for split in each]},
    )


def posterior_dataset(fitted: Fitted, splits: Splits) -> xarray.Dataset:
    """Parameters, orders and probabilities of the watched rows, with names."""
    import xarray

    draws, watched = fitted.draws, fitted.watched
    each = splits.each[: splits.kept(len(fitted.classes))]
    whole = xarray.Dataset(
        {
            **parameters_by_name(fitted, splits),
            "order": ((*SAMPLED, "stick"), draws.order),
            "probability": ((*SAMPLED, "row", "category"), fitted.watched_probabilities()),
        },
        coords={
            **_chains(fitted),
            "category": fitted.classes,
            "split": [split.label(fitted) for split in each],
            "feature": fitted.feature_names,
            "stick": np.arange(1, len(fitted.classes) + 1),
            "row": watched.row,
        },
    )
    if isinstance(fitted.binary, PanelLogistic):  # the last column says who chose
        return whole.isel(feature=slice(None, -1))
    return whole


def _chains(fitted: Fitted) -> dict[str, Any]:
    """Coordinates of all that was drawn."""
    draws = fitted.draws
    return {
        "chain": np.arange(draws.n_chains),
        "draw": np.arange(draws.n_draws),
        "direction": ("chain", np.array(draws.directions)),
    }


def write_tree(tree: xarray.DataTree, path: Path) -> None:
    """Write a tree to NetCDF or Zarr; see `PosteriorMixin.export`."""
    needed = {".nc": ("h5netcdf", "h5py"), ".zarr": ("zarr",)}
    if path.suffix not in needed:
        raise ValueError(f"path must end in .nc (NetCDF) or .zarr, not {path.suffix!r}")
    packages = needed[path.suffix]
    try:
        for package in packages:
            __import__(package)
    except ImportError:
        raise ImportError(
            f"writing {path.suffix} files needs {' and '.join(packages)}: pip install "
            f"{' '.join(packages)}"
        ) from None
    if is_special(path):
        raise FileExistsError(errno.EEXIST, NOT_REGULAR, str(path))
    if path.suffix == ".zarr":
        tree.to_zarr(path)
        return
    _refuse_open(path)
    temporary = path.with_name(f"{temporary_name()}.nc")  # what is there stays until all is written
    try:
        tree.to_netcdf(temporary, engine="h5netcdf")
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _refuse_open(path: Path) -> None:
    """Do not replace a file under the hands of somebody who reads it."""
    import h5py

    if not path.is_file() or not h5py.is_hdf5(path):
        return
    try:
        h5py.File(path, "r+").close()
    except OSError as error:
        raise OSError(
            f"{path} is open, here or in another program, or cannot be written: close it "
            "(dataset.close() in xarray), or export to another name"
        ) from error


def parameters_by_name(
    fitted: Fitted, splits: Splits
) -> dict[str, tuple[tuple[str, ...], NDArray]]:
    """Kept parameters by what they mean, with the names of their axes.

    NaN in draws that do not have a split. A parameter whose last axis is the covariates is
    separated into its intercept and its slopes, both on the scale of X; where its columns are
    those of a kernel, into its intercept and the coefficients of the bases.
    """
    draws, axes = fitted.draws, fitted.binary.axes
    out: dict[str, tuple[tuple[str, ...], NDArray]] = {}
    for name, values in draws.parameters.items():
        own = axes.get(name, tuple(f"{name}_axis_{k}" for k in range(values.ndim - 3)))
        dims = (*SAMPLED, "split", *own)
        known = _by_split(values, splits, len(fitted.classes))
        prefix = "" if name == "coef" else f"{name}_"
        if own and own[-1] == "column" and not fitted.columns_are_features:
            out[f"{prefix}intercept"] = (dims[:-1], known[..., 0])
            out[name] = ((*dims[:-1], "basis"), known[..., 1:])
        elif own and own[-1] == "column":
            intercept, slopes = fitted.scaling.intercept_and_slopes(known)
            out[f"{prefix}intercept"] = (dims[:-1], intercept)
            out[name] = ((*dims[:-1], "feature"), slopes)
        else:
            out[name] = (dims, known)
    return out


def _by_split(values: NDArray[np.float64], splits: Splits, n_classes: int) -> NDArray[np.float64]:
    """Parameters (chain, draw, category, ...) as (chain, draw, split, ...)."""
    kept = splits.kept(n_classes)
    out = np.full((*values.shape[:2], kept, *values.shape[3:]), np.nan)
    for k in range(kept):
        chosen = splits.draws_with(k)
        out[chosen, k] = values[chosen, splits.each[k].category]
    return out

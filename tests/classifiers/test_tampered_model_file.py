"""Saved models whose content makes no sense are refused."""

from __future__ import annotations

import numpy as np
import pytest
from tests.classifiers.small_models import fit

import pasb
from pasb.errors import FileFormatError
from pasb.storage import store

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.pasb"


def no_permutation(meta, arrays):
    arrays["order"][0, 0] = [0, 0, 1]


def order_out_of_range(meta, arrays):
    arrays["order"] += 1


def order_of_floats(meta, arrays):
    arrays["order"] = arrays["order"].astype(float)


def order_of_bytes(meta, arrays):
    arrays["order"] = arrays["order"].astype(np.int8)


def order_flat(meta, arrays):
    arrays["order"] = arrays["order"][0]


def no_draws(meta, arrays):
    for name in ("order", "log_likelihood", "statistics_swap_accepted", "draws_coef"):
        arrays[name] = arrays[name][:, :0]


def coefficients_too_few(meta, arrays):
    arrays["draws_coef"] = arrays["draws_coef"][:, :-1]


def coefficients_single(meta, arrays):
    arrays["draws_coef"] = arrays["draws_coef"].astype(np.float32)


def coefficients_nan(meta, arrays):
    arrays["draws_coef"][0, 0, 0, 0] = np.nan


def coefficients_infinite(meta, arrays):
    arrays["draws_coef"][0, 0, 0, 0] = np.inf


def coefficients_missing(meta, arrays):
    del arrays["draws_coef"]


def coefficients_not_kept(meta, arrays):
    meta["kept"] = []


def parameters_too_many(meta, arrays):
    meta["kept"] = [*meta["kept"], "more"]
    arrays["draws_more"] = np.zeros(3)


def traces_short(meta, arrays):
    arrays["log_likelihood"] = arrays["log_likelihood"][:, 1:]


def traces_of_integers(meta, arrays):
    arrays["log_likelihood"] = arrays["log_likelihood"].astype(np.int64)


def acceptance_long(meta, arrays):
    arrays["statistics_swap_accepted"] = np.zeros(5)


def spread_missing(meta, arrays):
    del arrays["spread"]


def spread_short(meta, arrays):
    arrays["spread"] = arrays["spread"][1:]


def spread_zero(meta, arrays):
    arrays["spread"][0] = 0


def centre_nan(meta, arrays):
    arrays["centre"][0] = np.nan


def centre_scalar(meta, arrays):
    arrays["centre"] = np.array(1.0)


def watched_rows_narrow(meta, arrays):
    arrays["monitored_inner"] = arrays["monitored_inner"][:, 1:]


def watched_rows_short(meta, arrays):
    arrays["monitored_row"] = arrays["monitored_row"][1:]


def watched_rows_many(meta, arrays):
    for name in ("inner", "row", "category"):
        arrays[f"monitored_{name}"] = np.repeat(arrays[f"monitored_{name}"], 2, axis=0)


def watched_rows_nan(meta, arrays):
    arrays["monitored_inner"][0, 0] = np.nan


def watched_rows_none(meta, arrays):
    for name in ("inner", "row", "category"):
        arrays[f"monitored_{name}"] = arrays[f"monitored_{name}"][:0]


def watched_categories_unknown(meta, arrays):
    arrays["monitored_category"] = arrays["monitored_category"] + 3


def watched_categories_negative(meta, arrays):
    arrays["monitored_category"] = arrays["monitored_category"] - 5


def classifier_unknown(meta, arrays):
    meta["classifier"] = "os.system"


def classifier_missing(meta, arrays):
    del meta["classifier"]


def parameter_unknown(meta, arrays):
    meta["parameters"]["speed"] = 3


def parameter_impossible(meta, arrays):
    meta["parameters"]["precision"] = -1


def parameters_a_list(meta, arrays):
    meta["parameters"] = [1, 2]


def binary_unknown(meta, arrays):
    meta["parameters"]["scale"] = {"binary_model": "Secret", "parameters": {}}


def binary_in_the_wrong_place(meta, arrays):
    meta["parameters"]["scale"] = {"binary_model": "Logistic", "parameters": {}}


def labels_equal(meta, arrays):
    meta["classes"]["labels"] = [1, 1, 2]


def labels_too_few(meta, arrays):
    meta["classes"]["labels"] = [0, 1]


def labels_nested(meta, arrays):
    meta["classes"]["labels"] = [[0], [1], [2]]


def labels_text(meta, arrays):
    meta["classes"]["labels"] = "abc"


def labels_too_large(meta, arrays):
    meta["classes"]["labels"] = [0, 1, 2**70]


def labels_of_unknown_kind(meta, arrays):
    meta["classes"]["kind"] = "object_"


def names_too_few(meta, arrays):
    meta["feature_names"] = ["one"]


def names_a_number(meta, arrays):
    meta["feature_names"] = 3


def library_unknown(meta, arrays):
    meta["frame_library"] = "os"


def guards_a_list(meta, arrays):
    meta["guards"] = [1]


def guards_of_text(meta, arrays):
    meta["guards"] = {"a": "b"}


class TestTampered:
    @pytest.mark.parametrize(
        "change",
        [
            no_permutation,
            order_out_of_range,
            order_of_floats,
            order_of_bytes,
            order_flat,
            no_draws,
            coefficients_too_few,
            coefficients_single,
            coefficients_nan,
            coefficients_infinite,
            coefficients_missing,
            coefficients_not_kept,
            parameters_too_many,
            traces_short,
            traces_of_integers,
            acceptance_long,
            spread_missing,
            spread_short,
            spread_zero,
            centre_nan,
            centre_scalar,
            watched_rows_narrow,
            watched_rows_short,
            watched_rows_many,
            watched_rows_nan,
            watched_rows_none,
            watched_categories_unknown,
            watched_categories_negative,
            classifier_unknown,
            classifier_missing,
            parameter_unknown,
            parameter_impossible,
            parameters_a_list,
            binary_unknown,
            binary_in_the_wrong_place,
            labels_equal,
            labels_too_few,
            labels_nested,
            labels_text,
            labels_too_large,
            labels_of_unknown_kind,
            names_too_few,
            names_a_number,
            library_unknown,
            guards_a_list,
            guards_of_text,
        ],
        ids=lambda change: change.__name__,
    )
    def test_is_refused(self, path, change):
        """A file that is sound as a file, with content that no model has."""
        fit().save(path)
        meta, arrays = store.read(path, "model")
        store.write(path, "model", meta, arrays)
        pasb.load(path)  # as it was, it is a model
        change(meta, arrays)
        store.write(path, "model", meta, arrays)
        with pytest.raises(FileFormatError, match="not a model"):
            pasb.load(path)

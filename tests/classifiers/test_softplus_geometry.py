"""What softplus models can enclose: one hyperplane, a union, an intersection, or both."""

from __future__ import annotations

import pytest

from pasb import SoftplusClassifier, datasets

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")


class TestGeometry:
    """One hyperplane, a union, an intersection, or a union of intersections (section 5.1)."""

    # no level: without layers no cut errs less than 0.36 (80 seeds), with them errors are 0.03 to
    # 0.05; the frame cannot be cut off by one hyperplane at all
    @pytest.mark.parametrize(
        ("n_experts", "n_layers", "encloses"),
        [(1, 1, False), (5, 1, False), (1, 3, True), (5, 3, True)],
    )
    def test_the_middle_class_first(self, n_experts, n_layers, encloses, seed):
        """Versicolor lies between the others; a layer is not enough to cut it out."""
        data = datasets.load("iris")
        lengths = data.frame()[["sepal_length", "petal_length"]]
        model = SoftplusClassifier(
            n_experts=n_experts,
            n_layers=n_layers,
            direction="forward",
            order=["versicolor", "setosa", "virginica"],
            n_chains=1,
            n_warmup=600,
            n_draws=300,
            random_state=seed,
        ).fit(lengths, data.y)
        error = 1 - model.score(lengths, data.y)
        assert error < 0.1 if encloses else error > 0.25

    # no level: the error is 0.03 to 0.04 over other seeds
    @pytest.mark.parametrize("n_experts", [1, 5])
    def test_a_good_order_needs_one_layer_only(self, n_experts, seed):
        data = datasets.load("iris")
        lengths = data.frame()[["sepal_length", "petal_length"]]
        model = SoftplusClassifier(
            n_experts=n_experts,
            n_layers=1,
            direction="forward",
            order=["setosa", "versicolor", "virginica"],
            n_chains=1,
            n_warmup=400,
            n_draws=200,
            random_state=seed,
        ).fit(lengths, data.y)
        assert 1 - model.score(lengths, data.y) < 0.1

    # no level: 0.43 with every seed that was tried; and at most 0.00 in training, 0.01 in test rows
    @pytest.mark.parametrize(("n_experts", "n_layers"), [(1, 1), (5, 3)])
    def test_a_frame_around_the_others(self, n_experts, n_layers, seed):
        part = datasets.load("square").partition(0)
        model = SoftplusClassifier(
            n_experts=n_experts,
            n_layers=n_layers,
            direction="forward",
            order=["1", "2", "3"],
            n_chains=1,
            n_warmup=600,
            n_draws=300,
            random_state=seed,
        ).fit(part.X_train, part.y_train)
        if n_experts == 1:
            assert 1 - model.score(part.X_train, part.y_train) > 0.2
        else:
            assert 1 - model.score(part.X_train, part.y_train) < 0.02
            assert 1 - model.score(part.X_test, part.y_test) < 0.04

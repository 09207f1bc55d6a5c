"""Both directions in one run: chains, probabilities, orders, checkpoints, files."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_expit
from tests.classifiers.two_directions import (
    BINARIES,
    DIRECTIONS,
    LABELS,
    N_CHAINS,
    N_DRAWS,
    N_WARMUP,
    NEW,
    X,
    Y,
    arrays,
    assert_same_draws,
    fit,
)

import pasb
from pasb import (
    Logistic,
)
from pasb.errors import CheckpointError

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")


def success(binary, parameters, table):
    """log P(success) and log P(failure) of each category, from the definition of the model."""
    if isinstance(binary, Logistic):
        psi = parameters["coef"] @ table.T
        return log_expit(psi), log_expit(-psi)
    rate = np.zeros((len(parameters["weight"]), len(table)))
    for expert in range(binary.n_experts):
        q = np.ones_like(rate)
        for layer in range(binary.n_layers):
            q = np.log1p(q * np.exp(parameters["coef"][:, expert, layer] @ table.T))
        rate += parameters["weight"][:, expert, None] * q
    return np.log(-np.expm1(-rate)), -rate


def by_hand(model, rows):
    """Probabilities of every draw by the formula of the sticks: (chain, draw, row, class)."""
    draws, table = model.draws_, model._columns(rows)
    out = np.zeros((*draws.order.shape[:2], len(rows), draws.order.shape[2]))
    for chain, draw in np.ndindex(out.shape[:2]):
        own = {name: values[chain, draw] for name, values in draws.parameters.items()}
        stop, go_on = success(model._binary_model(), own, table)
        if draws.directions[chain] == "reverse":
            stop, go_on = go_on, stop
        *sticks, reference = draws.order[chain, draw]
        left = np.zeros(len(rows))
        for category in sticks:
            out[chain, draw, :, category] = np.exp(left + stop[category])
            left = left + go_on[category]
        out[chain, draw, :, reference] = np.exp(left)
    return out


@pytest.fixture(scope="module", params=BINARIES, ids=lambda binary: type(binary).__name__)
def both(request):
    return fit(request.param)


@pytest.fixture(scope="module")
def softplus():
    return fit(BINARIES[2])


@pytest.fixture(scope="module")
def logistic():
    return fit(BINARIES[0])


class TestChains:
    def test_half_of_the_chains_break_sticks_in_reverse(self, both):
        assert both.draws_.directions == ("forward",) * N_CHAINS + ("reverse",) * N_CHAINS
        assert both.draws_.order.shape == (2 * N_CHAINS, N_DRAWS, 3)
        np.testing.assert_array_equal(both.draws_.of_direction("reverse"), [2, 3])

    def test_forward_chains_are_those_of_a_forward_run(self, both):
        alone = fit(both.binary, "forward")
        for name, values in arrays(both.draws_).items():
            np.testing.assert_array_equal(
                values[:N_CHAINS], arrays(alone.draws_)[name], err_msg=name
            )

    def test_reverse_chains_are_those_of_their_number_in_a_reverse_run(self, both):
        alone = fit(both.binary, "reverse", n_chains=2 * N_CHAINS)
        for name, values in arrays(both.draws_).items():
            np.testing.assert_array_equal(
                values[N_CHAINS:], arrays(alone.draws_)[name][N_CHAINS:], err_msg=name
            )

    def test_number_of_threads_does_not_matter(self, both):
        assert_same_draws(both, fit(both.binary, n_jobs=2))

    def test_callbacks_see_the_chains_of_both(self):
        seen = []
        fit(callbacks=[lambda info: seen.append((info.chain, info.sweep))])
        assert sorted(seen) == [(k, s) for k in range(4) for s in range(1, N_WARMUP + N_DRAWS + 1)]

    def test_stopped_by_a_callback(self):
        model = fit(callbacks=[lambda info: info.sweep == N_WARMUP + 5])
        assert model.draws_.interrupted
        assert model.draws_.order.shape[0] == 2 * N_CHAINS
        assert set(model.orders_) == set(DIRECTIONS)
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


class TestProbabilities:
    def test_are_the_equal_average_of_the_two(self, both):
        forward = fit(both.binary, "forward").predict_proba(NEW)
        samples = both.sample_proba(NEW).reshape(2, N_CHAINS * N_DRAWS, len(NEW), 3)
        np.testing.assert_allclose(samples[0].mean(axis=0), forward, rtol=1e-12)
        average = (forward + samples[1].mean(axis=0)) / 2
        np.testing.assert_allclose(both.predict_proba(NEW), average, rtol=1e-12)

    @pytest.mark.parametrize("binary", [BINARIES[0], BINARIES[2]], ids=["Logistic", "Softplus"])
    @pytest.mark.parametrize("direction", ["both", "forward", "reverse"])
    def test_follow_from_the_draws(self, binary, direction):
        model = fit(binary, direction)
        expected = by_hand(model, NEW)
        np.testing.assert_allclose(
            model.sample_proba(NEW), expected.reshape(-1, len(NEW), 3), rtol=1e-9, atol=1e-14
        )
        np.testing.assert_allclose(
            model.predict_proba(NEW), expected.mean(axis=(0, 1)), rtol=1e-9, atol=1e-14
        )

    @pytest.mark.parametrize("binary", [BINARIES[0], BINARIES[2]], ids=["Logistic", "Softplus"])
    def test_log_likelihood_is_that_of_the_training_rows(self, binary):
        model = fit(binary)
        own = by_hand(model, X)[:, :, np.arange(len(X)), np.searchsorted(LABELS, Y)]
        np.testing.assert_allclose(model.draws_.log_likelihood, np.log(own).sum(axis=2), rtol=1e-9)

    def test_some_draws_are_spread_over_both_directions(self, both):
        every = both.sample_proba(NEW)
        assert every.shape == (4 * N_DRAWS, len(NEW), 3)
        for n in (2, 4, 7, 40):
            chosen = both.draws_.spread(n)
            some = both.sample_proba(NEW, n_draws=n)
            np.testing.assert_allclose(some, every[chosen], rtol=1e-9, atol=1e-14)
            n_forward = np.count_nonzero(chosen < 2 * N_DRAWS)
            assert n_forward in (n // 2, -(-n // 2))
        with pytest.raises(ValueError, match=f"positive integer up to {4 * N_DRAWS}"):
            both.sample_proba(NEW, n_draws=4 * N_DRAWS + 1)

    def test_a_row_does_not_depend_on_the_others(self, both):
        whole, samples = both.predict_proba(NEW), both.sample_proba(NEW)
        for rows in ([0], [299], [5, 3, 299], range(17, 290), range(256, 300)):
            rows = list(rows)
            np.testing.assert_array_equal(both.predict_proba(NEW[rows]), whole[rows])
            np.testing.assert_array_equal(both.sample_proba(NEW[rows]), samples[:, rows])


class TestOrder:
    def test_one_for_each_direction(self, both):
        assert list(both.orders_) == list(DIRECTIONS)
        for name, order in both.orders_.items():
            chains = both.draws_.order[both.draws_.of_direction(name)].reshape(-1, 3)
            distinct, counts = np.unique(chains, axis=0, return_counts=True)
            top = LABELS[distinct[np.argmax(counts)]]
            np.testing.assert_array_equal(order, top)

    @pytest.mark.parametrize("direction", DIRECTIONS)
    def test_with_one_direction(self, direction):
        model = fit(direction=direction)
        assert list(model.orders_) == [direction]
        assert model.order_ is model.orders_[direction]

    def test_always_an_array(self, both):
        assert isinstance(both.order_, np.ndarray)
        assert both.order_ is both.orders_["forward"]

    @pytest.mark.parametrize(
        "order", [["yew", "ash", "oak"], ("yew", "ash", "oak"), np.array(["yew", "ash", "oak"])]
    )
    def test_a_sequence_holds_for_both(self, order):
        model = fit(order=order)
        assert (model.draws_.order == [2, 0, 1]).all()
        for own in model.orders_.values():
            assert list(own) == ["yew", "ash", "oak"]

    def test_a_dictionary_holds_one_for_each(self):
        orders = {"reverse": ["yew", "ash", "oak"], "forward": ("ash", "oak", "yew")}
        model = fit(order=orders)
        assert (model.draws_.order[:N_CHAINS] == [0, 1, 2]).all()
        assert (model.draws_.order[N_CHAINS:] == [2, 0, 1]).all()
        assert {name: list(order) for name, order in model.orders_.items()} == {
            name: list(order) for name, order in orders.items()
        }

    def test_that_of_a_fitted_model_can_be_fixed(self, both):
        fixed = fit(both.binary, order=both.orders_)
        for name, order in both.orders_.items():
            chains = fixed.draws_.order[fixed.draws_.of_direction(name)]
            assert (LABELS[chains] == order).all()
            np.testing.assert_array_equal(fixed.orders_[name], order)
        again = fit(both.binary, order=fixed.orders_)
        assert_same_draws(again, fixed)

    def test_a_dictionary_with_one_direction(self):
        model = fit(direction="reverse", order={"reverse": ["yew", "ash", "oak"]})
        assert list(model.order_) == ["yew", "ash", "oak"]

    @pytest.mark.parametrize(
        ("direction", "order", "message"),
        [
            ("both", {"forward": LABELS}, "'forward' and 'reverse'.*got.*'forward'"),
            ("both", {}, "one order for each direction"),
            ("both", dict.fromkeys(("forward", "backward"), LABELS), "'reverse'.*'backward'"),
            ("both", dict.fromkeys(("forward", "reverse", "x"), LABELS), "one order for each"),
            ("forward", dict.fromkeys(DIRECTIONS, LABELS), "one order for each direction"),
            ("reverse", {"forward": LABELS}, "with the keys 'reverse'"),
            ("both", {"forward": LABELS, "reverse": ["ash", "oak"]}, "'yew' is missing"),
            ("both", {"forward": LABELS, "reverse": ["ash", "oak", "elm"]}, "'elm' is not a class"),
            ("both", {"forward": LABELS, "reverse": "infer"}, "order must be 'infer' or list"),
        ],
    )
    def test_bad_ones_are_refused(self, direction, order, message):
        with pytest.raises(ValueError, match=message):
            fit(direction=direction, order=order)

    def test_direction_must_be_known(self):
        with pytest.raises(ValueError, match=r"'direction' parameter.*'sideways'"):
            fit(direction="sideways")


class TestCheckpoint:
    @pytest.mark.parametrize("binary", BINARIES, ids=lambda binary: type(binary).__name__)
    @pytest.mark.parametrize("sweep", [4, N_WARMUP + 6])
    def test_resumed(self, binary, sweep, tmp_path):
        part = fit(binary, checkpoint=tmp_path, callbacks=[lambda info: info.sweep == sweep])
        assert part.draws_.interrupted
        resumed = fit(binary, checkpoint=tmp_path)
        assert not resumed.draws_.interrupted
        assert resumed.draws_.directions == part.draws_.directions
        assert_same_draws(resumed, fit(binary))

    def test_resumed_with_an_order_for_each(self, tmp_path):
        order = {"forward": LABELS, "reverse": LABELS[::-1]}
        fit(order=order, checkpoint=tmp_path, callbacks=[lambda info: info.sweep == 20])
        assert_same_draws(fit(order=order, checkpoint=tmp_path), fit(order=order))

    @pytest.mark.parametrize(("first", "second"), [("forward", "both"), ("both", "reverse")])
    def test_of_another_direction_is_refused(self, first, second, tmp_path):
        chains = {"both": 2, "forward": 4, "reverse": 4}  # as many in all
        fit(direction=first, n_chains=chains[first], checkpoint=tmp_path)
        with pytest.raises(CheckpointError, match="direction"):
            fit(direction=second, n_chains=chains[second], checkpoint=tmp_path)

    def test_of_another_order_is_refused(self, tmp_path):
        order = {"forward": LABELS, "reverse": LABELS[::-1]}
        fit(order=order, checkpoint=tmp_path)
        with pytest.raises(CheckpointError, match="order"):
            fit(order={**order, "reverse": LABELS}, checkpoint=tmp_path)


class TestFile:
    def test_round_trip(self, both, tmp_path):
        both.save(tmp_path / "model.pasb")
        again = pasb.load(tmp_path / "model.pasb")
        assert again.draws_.directions == both.draws_.directions
        assert_same_draws(again, both)
        assert list(again.orders_) == list(both.orders_)
        np.testing.assert_array_equal(again.predict_proba(NEW), both.predict_proba(NEW))
        assert again.posterior_.identical(both.posterior_)
        assert again.order_posterior().equals(both.order_posterior())
        assert again.n_hyperplanes() == both.n_hyperplanes()
        assert again.diagnostics_.worst_rhat == both.diagnostics_.worst_rhat

    @pytest.mark.parametrize("order", [LABELS, {"forward": LABELS, "reverse": LABELS[::-1]}])
    def test_with_a_fixed_order(self, order, tmp_path):
        model = fit(order=order)
        model.save(tmp_path / "model.pasb")
        again = pasb.load(tmp_path / "model.pasb")
        np.testing.assert_array_equal(again.predict_proba(NEW), model.predict_proba(NEW))
        assert_same_draws(again.fit(X, Y), model)

    @pytest.mark.parametrize(
        "directions",
        [["forward"] * 4, ["forward"] * 2 + ["back"] * 2, ["forward", "reverse"], "both", [1] * 4],
    )
    def test_impossible_directions_are_refused(self, logistic, directions, tmp_path):
        path = tmp_path / "model.pasb"
        logistic.save(path)
        meta, content = pasb.storage.store.read(path, "model")
        meta["directions"] = directions
        pasb.storage.store.write(path, "model", meta, content)
        with pytest.raises(pasb.errors.FileFormatError, match="directions"):
            pasb.load(path)

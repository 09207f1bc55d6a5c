"""What `until` may be, and what draws must be like to stop."""

from __future__ import annotations

import numpy as np
import pytest

from pasb import StickBreakingClassifier
from pasb.posterior.limits import Limits


class TestUntil:
    def test_what_is_left_out_is_as_usual(self):
        assert Limits.of(None) == Limits() == (1.05, 100)
        assert Limits.of({"rhat": 1.01}) == (1.01, 100)
        assert Limits.of({"ess": np.int64(400)}) == (1.05, 400)
        assert Limits.of({"ess": 400, "rhat": np.float32(1.5)}) == (1.5, 400)

    @pytest.mark.parametrize("until", [400, 1.01, True, "ess=400", (1.01, 400), {}, [("ess", 4)]])
    def test_no_dictionary(self, until):
        with pytest.raises(ValueError, match=r'until must be .* \{"rhat": 1.01, "ess": 400\}'):
            Limits.of(until)

    @pytest.mark.parametrize("key", ["r_hat", "R-hat", "ESS", "", 1, None])
    def test_other_keys(self, key):
        with pytest.raises(ValueError, match=r'until has no key .*"rhat" and "ess"'):
            Limits.of({"ess": 400, key: 1.01})

    @pytest.mark.parametrize("value", [1, 0.99, 400, "1.01", True, None, np.nan, np.inf])
    def test_no_limit_of_rhat(self, value):
        with pytest.raises(ValueError, match=r'until\["rhat"\] must be .* such as 1.01'):
            Limits.of({"rhat": value})

    @pytest.mark.parametrize("value", [0, 0.4, -400, "400", True, None, np.nan, np.inf])
    def test_no_limit_of_the_effective_sample_size(self, value):
        with pytest.raises(ValueError, match=r'until\["ess"\] must be .* such as 400'):
            Limits.of({"ess": value})


def test_all_quantities_must_be_within():
    limits = Limits(1.01, 400)
    good = np.array([1.0, 1.01]), np.array([400.0, 900.0])
    assert limits.met(*good)
    assert not limits.met(good[0] + 0.001, good[1])
    assert not limits.met(good[0], good[1] - 1)
    assert limits.met(np.array([np.nan]), good[1])  # a single chain has no R-hat
    assert not limits.met(np.array([np.nan]), np.array([np.nan]))
    assert not limits.met(good[0], np.array([np.nan]))


@pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")
@pytest.mark.parametrize("direction", ["forward", "both"])
def test_agrees_with_the_diagnostics(direction):
    """At each of the worst quantities, and in between."""
    rng = np.random.default_rng(3)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 2)) + np.eye(3)[y][:, :2]
    model = StickBreakingClassifier(
        direction=direction, n_chains=2, n_warmup=20, n_draws=60, n_jobs=1, random_state=3
    ).fit(X, y)
    seen = model.diagnostics_
    just = {"rhat": seen.worst_rhat + 1e-9, "ess": seen.worst_ess - 1e-9}
    for changes, expected in [
        ({}, True),
        ({"rhat": seen.worst_rhat - 1e-6}, False),
        ({"ess": seen.worst_ess + 1e-6}, False),
        ({"ess": seen.ess_log_likelihood + 1e-6}, False),
        ({"rhat": seen.rhat_probability.max() - 1e-6}, False),
    ]:
        model.until = just | changes
        assert model.fitted_.good_enough() is expected

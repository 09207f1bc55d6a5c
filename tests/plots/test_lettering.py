"""Labels in any script have letters, or code points, and never a warning."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.text import Text

from pasb import StickLogisticClassifier, plots
from pasb.plots.lettering import families, readable

LABELS = ["猫", "قط", "😀 cat", "Кошка", "größer"]


def test_letters_of_the_font_stay():
    assert readable("Eibe, größer ≥ β") == "Eibe, größer ≥ β"
    assert readable("Кошка\n") == "Кошка\n"


def test_other_letters_become_code_points():
    private = "\ue123"  # of private use: no font is expected to have it
    assert readable(f"a{private}") in ("aU+E123", f"a{private}")
    assert readable("a") == "a"
    assert len({readable(label) for label in LABELS}) == len(LABELS)


def test_the_users_font_comes_first():
    assert families()[0] == "DejaVu Sans"


@pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")
def test_no_letter_is_missing(tmp_path):
    rng = np.random.default_rng(0)
    y = np.array(LABELS)[np.arange(50) % 5]
    names = ["身長", "وزن"]
    import pandas as pd

    X = pd.DataFrame(rng.normal(size=(50, 2)), columns=names)
    model = StickLogisticClassifier(n_chains=1, n_warmup=5, n_draws=20, random_state=1).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for figure in (
            plots.trace(model),
            plots.order_posterior(model),
            plots.coefficients(model),
            plots.probability_map(model, X, y, resolution=8).figure,
        ):
            figure.savefig(tmp_path / "picture.png")
            texts = [text.get_text() for text in figure.findobj(Text)]
            assert all(readable(text) == text for text in texts)
    pyplot.close("all")

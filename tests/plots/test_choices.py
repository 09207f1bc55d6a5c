"""Pictures of answers."""

from __future__ import annotations

import pytest
from tests.choice.simulated_choices import fitted, simulated

from pasb import choice, plots

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def data():
    return simulated(700, 5)


@pytest.fixture(scope="module")
def model(data):
    return fitted(data)


def test_every_answer_has_a_picture(model, data):
    answers = {
        "shares": choice.shares(model, data),
        "groups": choice.shares(model, data, by="old"),
        "changes": choice.share_changes(model, data, data.changed("price", factor=2)),
        "elasticities": choice.elasticities(model, data, "price"),
        "diversion": choice.diversion(model, data, "train"),
        "worth": choice.willingness_to_pay(model, "time", "price"),
        "ratio": choice.probability_ratio(model, data, "train", "car", "bus"),
        "independence": choice.iia_test(model, data),
    }
    first = {}
    for name, answer in answers.items():
        ax = plots.choices(answer, label=name)
        labels = [text.get_text() for text in ax.get_yticklabels()]
        assert len(labels) == len(answer)
        assert ax.get_xlabel() == name
        first[name] = labels[0]
        ax.figure.canvas.draw()
    assert first["groups"] == "0.0: bus"
    assert first["elasticities"] == "bus → bus"
    assert first["diversion"] == "train → bus"
    assert first["independence"] == "car / train without bus"
    assert first["worth"] == "all"


def test_other_frames_are_refused(data):
    with pytest.raises(TypeError, match="must be a data frame"):
        plots.choices(data.table())

"""Hyperplanes of a softplus model as covariates for other estimators."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from tests.classifiers.small_stacks import LABELS, NEW, SMALL, X, Y, features

from pasb import SoftplusClassifier, SoftplusFeatures, StackedSoftplusClassifier

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")


def responses(vectors, scaling, columns):
    """log(1 + exp(x'b)), from the definition."""
    inner = np.column_stack([np.ones(len(columns)), (columns - scaling.centre) / scaling.spread])
    return np.log1p(np.exp(inner @ vectors.T))


class TestFeatures:
    def test_follow_the_formula(self):
        transformer = features()
        out = transformer.transform(NEW)
        planes = transformer.hyperplanes_
        draws, n = transformer.classifier_.draws_, 0
        for order, active in zip(draws.order, draws.parameters["active"], strict=True):
            n += 2 * np.count_nonzero(active[-1, order[-1, :-1]])  # layers
        assert planes.shape == (n, 3)
        np.testing.assert_array_equal(out[:, :2], NEW)
        expected = np.log1p(np.exp(planes[:, 0] + NEW @ planes[:, 1:].T))
        np.testing.assert_allclose(out[:, 2:], expected, rtol=1e-9)

    @pytest.mark.parametrize("scale", [None, "range"])
    def test_hyperplanes_are_on_the_scale_of_the_covariates(self, scale):
        table = X * [100.0, 0.01] + [5.0, -3.0]
        transformer = features(table, scale=scale)
        planes = transformer.hyperplanes_
        expected = np.logaddexp(0, planes[:, 0] + table @ planes[:, 1:].T)
        np.testing.assert_allclose(transformer.transform(table)[:, 2:], expected, rtol=1e-8)

    def test_are_the_step_of_a_stack(self):
        two = StackedSoftplusClassifier(**SMALL, stack_sweeps=30).fit(X, Y)
        level = two._levels[0]
        settings = two._level_model(1).set_params(order="infer").get_params()
        transformer = SoftplusFeatures(SoftplusClassifier(**settings)).fit(X, Y)
        np.testing.assert_array_equal(transformer.transform(NEW), two._stacked(NEW))
        assert len(transformer.hyperplanes_) == len(level.vectors)

    def test_a_row_does_not_depend_on_the_others(self):
        transformer = features()
        whole = transformer.transform(NEW)
        for rows in ([0], [299], [5, 3, 299], range(17, 290), range(256, 300)):
            rows = list(rows)
            np.testing.assert_array_equal(transformer.transform(NEW[rows]), whole[rows])

    def test_far_rows_are_finite(self):
        out = features().transform(1e8 * np.array([[1.0, 1.0], [-1.0, -1.0]]))
        assert np.isfinite(out).all()

    def test_fit_transform(self):
        transformer = features()
        again = clone(transformer)
        np.testing.assert_array_equal(again.fit_transform(X, Y), transformer.transform(X))

    def test_the_classifier_stays_as_it_was(self):
        classifier = SoftplusClassifier(**SMALL)
        transformer = SoftplusFeatures(classifier).fit(X, Y)
        assert transformer.classifier is classifier
        assert not hasattr(classifier, "draws_")
        assert hasattr(transformer.classifier_, "draws_")

    def test_nested_parameters_and_clone(self):
        transformer = clone(SoftplusFeatures(SoftplusClassifier(**SMALL)))
        transformer.set_params(classifier__n_experts=1, classifier__direction="forward")
        transformer.fit(X, Y)
        assert len(transformer.hyperplanes_) == 2 * 2 * 2  # sticks, layers, chains
        assert not hasattr(clone(transformer), "classifier_")

    def test_one_direction(self):
        names = features(direction="reverse").get_feature_names_out()
        assert all(name.startswith("softplus reverse ") for name in names[2:])

    def test_class_without_rows(self):
        labels = np.where(np.arange(60) % 2, "a", "b")
        transformer = features(
            labels=labels,
            sample_weight=(labels == "b").astype(float),
            direction="forward",
            order=["a", "b"],
        )
        assert transformer.hyperplanes_.shape == (0, 3)
        np.testing.assert_array_equal(transformer.transform(NEW), NEW)
        assert list(transformer.get_feature_names_out()) == ["x0", "x1"]

    def test_sample_weight(self):
        kept = np.arange(60) % 4 != 0
        weighted = features(sample_weight=kept.astype(float))
        np.testing.assert_array_equal(
            weighted.transform(NEW), features(X[kept], Y[kept]).transform(NEW)
        )
        with pytest.raises(ValueError, match="sample_weight must be 0 or 1"):
            features(sample_weight=np.full(60, 0.5))


class TestFeatureNames:
    def test_without_names(self):
        transformer = features()
        names = transformer.get_feature_names_out()
        assert list(names[:2]) == ["x0", "x1"]
        assert len(names) == transformer.transform(X).shape[1] == len(set(names))
        assert names[2].startswith("softplus forward ")
        assert names[-1].startswith("softplus reverse ")
        assert all(name.split()[2] in LABELS for name in names[2:])
        given = transformer.get_feature_names_out(["height", "width"])
        assert list(given[:2]) == ["height", "width"]
        np.testing.assert_array_equal(given[2:], names[2:])

    def test_with_names(self):
        transformer = features(pd.DataFrame(X, columns=["height", "width"]))
        for names in (None, ["height", "width"], np.array(["height", "width"])):
            assert list(transformer.get_feature_names_out(names)[:2]) == ["height", "width"]
        with pytest.raises(ValueError, match="not equal to feature_names_in_"):
            transformer.get_feature_names_out(["width", "height"])

    @pytest.mark.parametrize("names", [["a"], ["a", "b", "c"], []])
    def test_wrong_number(self, names):
        with pytest.raises(ValueError, match="input_features"):
            features().get_feature_names_out(names)
        with pytest.raises(ValueError, match="input_features"):
            features(pd.DataFrame(X, columns=["a", "b"])).get_feature_names_out(names)

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_frames(self, library):
        frame = {"pandas": pd, "polars": pl}[library].DataFrame({"height": X[:, 0], "w": X[:, 1]})
        transformer = features(frame).set_output(transform=library)
        out = transformer.transform(frame)
        assert type(out) is type(frame)
        assert list(out.columns) == list(transformer.get_feature_names_out())
        plain = transformer.set_output(transform="default").transform(frame)
        np.testing.assert_array_equal(out.to_numpy(), plain)
        if library == "pandas":
            assert out.index.equals(frame.index)

    def test_in_a_pipeline(self):
        pipeline = make_pipeline(
            SoftplusFeatures(SoftplusClassifier(**SMALL)), LogisticRegression(max_iter=500)
        ).fit(X, Y)
        assert pipeline.predict_proba(NEW).shape == (300, 3)
        assert pipeline.score(X, Y) > 0.5  # no level: 0.63 with a spread of 0.02 over other seeds
        assert len(pipeline[:-1].get_feature_names_out()) == pipeline[-1].n_features_in_
        named = clone(pipeline).set_output(transform="pandas").fit(X, Y)
        assert named.score(X, Y) == pipeline.score(X, Y)
        assert list(named[-1].feature_names_in_) == list(pipeline[:-1].get_feature_names_out())


class TestBadInputOfFeatures:
    def test_not_fitted(self):
        for ask in (lambda t: t.transform(X), lambda t: t.get_feature_names_out()):
            with pytest.raises(NotFittedError):
                ask(SoftplusFeatures())

    def test_other_columns(self):
        with pytest.raises(ValueError, match="3 features"):
            features().transform(np.zeros((4, 3)))
        transformer = features(pd.DataFrame(X, columns=["a", "b"]))
        with pytest.raises(ValueError, match="feature names"):
            transformer.transform(pd.DataFrame(X, columns=["a", "c"]))

    def test_missing_values(self):
        with pytest.raises(ValueError, match="NaN"):
            features().transform([[np.nan, 1.0]])

    @pytest.mark.parametrize("classifier", ["softplus", SoftplusClassifier, LogisticRegression()])
    def test_not_a_softplus_classifier(self, classifier):
        with pytest.raises(ValueError, match="'classifier' parameter"):
            SoftplusFeatures(classifier).fit(X, Y)

    def test_stacks(self):
        with pytest.raises(TypeError, match="classifier must be a SoftplusClassifier"):
            SoftplusFeatures(StackedSoftplusClassifier()).fit(X, Y)

    def test_settings_of_the_classifier(self):
        with pytest.raises(ValueError, match="n_experts"):
            features(n_experts=0)

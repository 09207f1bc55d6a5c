"""Any scikit-learn classifier on sticks."""

from __future__ import annotations

import inspect
import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from joblib import parallel_config
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, ShuffleSplit, cross_val_score
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.classifiers.ensembles import clouds

import pasb
from pasb import StickEnsembleClassifier


@parametrize_with_checks(
    [
        StickEnsembleClassifier(LogisticRegression(), search="peel", cv=2, random_state=0),
        StickEnsembleClassifier(GaussianNB(), cv=3, random_state=0),
    ]
)
def test_check_of_scikit_learn(estimator, check):
    check(estimator)


def by_hand(X, y, order, estimator):
    """Probabilities of the construction, written out."""
    out, left = np.zeros((len(X), len(order))), np.ones(len(X))
    kept = np.ones(len(y), dtype=bool)
    for c in order[:-1]:
        model = clone(estimator).fit(X[kept], (y[kept] == c).astype(int))
        p = model.predict_proba(X)[:, 1]
        out[:, c], left = left * p, left * (1 - p)
        kept &= y != c
    out[:, order[-1]] = left
    return out


class TestConstruction:
    def test_probabilities_are_products_along_the_sticks(self):
        X, y = clouds()
        model = StickEnsembleClassifier(GaussianNB(), order=[2, 0, 3, 1]).fit(X, y)
        expected = by_hand(X, y, [2, 0, 3, 1], GaussianNB())
        np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
        assert np.array_equal(model.predict(X), expected.argmax(axis=1))
        assert model.order_.tolist() == [2, 0, 3, 1]
        assert len(model.estimators_) == model.n_fits_ == 3
        assert np.isnan(model.log_loss_)
        assert model.stick_scores_ == {}

    def test_two_classes_are_the_estimator_itself(self):
        X, y = clouds(2)
        model = StickEnsembleClassifier(LogisticRegression()).fit(X, y)
        alone = LogisticRegression().fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X), alone.predict_proba(X), atol=1e-4)
        assert model.n_fits_ == 1

    def test_certain_estimators_give_zeros_and_ones(self):
        X, y = clouds()
        model = StickEnsembleClassifier(DecisionTreeClassifier(), random_state=0).fit(X, y)
        p = model.predict_proba(X)
        assert set(np.unique(p)) == {0.0, 1.0}
        assert np.array_equal(p.argmax(axis=1), y)
        assert np.isfinite(model.log_loss_)

    def test_text_labels(self):
        X, y = clouds()
        names = np.array(["north", "east", "south", "west"])
        model = StickEnsembleClassifier(GaussianNB(), random_state=1).fit(X, names[y])
        plain = StickEnsembleClassifier(GaussianNB(), random_state=1).fit(X, y)
        assert set(model.predict(X)) <= set(names)
        assert model.classes_.tolist() == sorted(names)
        assert model.score(X, names[y]) > 0.75
        assert model.log_loss_ == pytest.approx(plain.log_loss_, abs=0.1)  # folds are others


class TestRandomState:
    def test_the_same_int_gives_the_same_model_whatever_n_jobs_is(self):
        X, y = clouds()
        forest = make_pipeline(StandardScaler(), RandomForestClassifier(3))
        one, two = (
            StickEnsembleClassifier(forest, cv=2, random_state=3, n_jobs=n).fit(X, y)
            for n in (1, 2)
        )
        assert one.stick_scores_ == two.stick_scores_
        assert np.array_equal(one.predict_proba(X), two.predict_proba(X))
        other = StickEnsembleClassifier(forest, cv=2, random_state=4).fit(X, y)
        assert not np.array_equal(one.predict_proba(X), other.predict_proba(X))
        seeds = {model[-1].random_state for model in one.estimators_}
        assert len(seeds) == 3
        assert forest[-1].random_state is None

    def test_a_state_of_the_estimator_is_kept(self):
        X, y = clouds()
        forest = RandomForestClassifier(3, random_state=8)
        model = StickEnsembleClassifier(forest, cv=2, random_state=3).fit(X, y)
        assert {own.random_state for own in model.estimators_} == {8}

    def test_threads_of_a_joblib_context(self):
        X, y = clouds()
        with parallel_config(backend="threading", n_jobs=2):
            within = StickEnsembleClassifier(GaussianNB(), random_state=1).fit(X, y)
        without = StickEnsembleClassifier(GaussianNB(), random_state=1).fit(X, y)
        assert within.stick_scores_ == without.stick_scores_


class Recorder(ClassifierMixin, BaseEstimator):
    """Remembers what it was given."""

    def fit(self, X, y, sample_weight=None, note=None):
        self.seen_ = type(X).__module__.split(".")[0]
        self.n_rows_ = X.shape[0]
        self.weight_, self.note_ = sample_weight, note
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        assert type(X).__module__.split(".")[0] == self.seen_
        return np.tile([0.5, 0.5], (X.shape[0], 1))


class TestInput:
    @pytest.mark.parametrize(
        ("make", "module"),
        [
            (np.asarray, "numpy"),
            (lambda X: pd.DataFrame(X, columns=["a", "b"]), "pandas"),
            (lambda X: pl.DataFrame(X, schema=["a", "b"]), "polars"),
            (sparse.csr_array, "scipy"),
            (sparse.csr_matrix, "scipy"),
        ],
    )
    def test_tables_are_passed_on_as_they_are(self, make, module):
        X, y = clouds()
        table = make(X)
        model = StickEnsembleClassifier(Recorder(), cv=2, random_state=0).fit(table, y)
        assert {own.seen_ for own in model.estimators_} == {module}
        assert model.predict_proba(table).shape == (160, 4)
        assert model.n_features_in_ == 2
        assert hasattr(model, "feature_names_in_") == (module in ("pandas", "polars"))
        assert model.estimators_[0].n_rows_ == 160

    def test_a_pipeline_sees_columns_by_name(self):
        X, y = clouds()
        frame = pd.DataFrame(X, columns=["a", "b"]).assign(word=np.array(list("uvwx"))[y])
        columns = make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), ["word"]), remainder="passthrough"
        )
        model = StickEnsembleClassifier(make_pipeline(columns, LogisticRegression()))
        model.fit(frame, y)
        assert model.score(frame, y) == 1.0
        assert model.feature_names_in_.tolist() == ["a", "b", "word"]
        with pytest.raises(ValueError, match="feature names"):
            model.predict(frame.rename(columns={"a": "c"}))

    def test_texts(self):
        texts = ["red rose", "red wine", "green tea", "green leaf", "blue sky", "blue sea"] * 4
        y = [text.split()[0] for text in texts]
        model = StickEnsembleClassifier(make_pipeline(CountVectorizer(), MultinomialNB()))
        model.fit(texts, y)
        assert model.predict(["a red sky", "green sea"]).tolist() == ["red", "green"]
        assert not hasattr(model, "n_features_in_")

    def test_gaps_where_the_estimator_takes_them(self):
        X, y = clouds()
        X[::7, 0] = np.nan
        model = StickEnsembleClassifier(DecisionTreeClassifier(max_depth=3), random_state=0)
        assert get_tags(model).input_tags.allow_nan
        assert model.fit(X, y).score(X, y) > 0.6
        with pytest.raises(ValueError, match="NaN"):
            StickEnsembleClassifier(LogisticRegression()).fit(X, y)

    def test_a_refit_forgets_names(self):
        X, y = clouds()
        model = StickEnsembleClassifier(GaussianNB()).fit(pd.DataFrame(X, columns=["a", "b"]), y)
        model.fit(X, y)
        assert not hasattr(model, "feature_names_in_")


class TestWeights:
    @pytest.mark.parametrize("search", ["lattice", "walk"])
    def test_zero_weight_leaves_a_row_out(self, search):
        X, y = clouds()
        kept = np.arange(len(y)) % 4 != 0
        model = StickEnsembleClassifier(GaussianNB(), search=search, random_state=1)
        weighted = clone(model).fit(X, y, sample_weight=kept.astype(float))
        without = clone(model).fit(X[kept], y[kept])
        assert weighted.stick_scores_ == pytest.approx(without.stick_scores_, rel=1e-12)
        np.testing.assert_allclose(weighted.predict_proba(X), without.predict_proba(X), rtol=1e-9)

    def test_weights_count_rows(self):
        X, y = clouds()
        weights = np.array([3, 2, 1, 1])[y]
        model = StickEnsembleClassifier(GaussianNB(), order=[0, 1, 2, 3])
        weighted = clone(model).fit(X, y, sample_weight=weights).predict_proba(X)
        rows = np.repeat(np.arange(len(y)), weights)
        repeated = clone(model).fit(X[rows], y[rows]).predict_proba(X)
        np.testing.assert_allclose(weighted, repeated, rtol=1e-6)

    def test_weights_count_in_the_out_of_fold_likelihood(self):
        X, y = clouds()
        folds = list(ShuffleSplit(2, random_state=0).split(X))
        heavy = np.where(y == 1, 5.0, 1.0)
        model = StickEnsembleClassifier(Recorder(), search="lattice", cv=folds)
        tested = np.concatenate([test for _, test in folds])
        scores = model.fit(X, y, sample_weight=heavy).stick_scores_
        for (c, behind), score in scores.items():
            own = tested[np.isin(y[tested], [c, *behind])]
            assert score == pytest.approx(np.log(0.5) * heavy[own].sum())

    def test_a_class_without_weight_keeps_its_column(self):
        X, y = clouds()
        model = StickEnsembleClassifier(GaussianNB(), random_state=0)
        p = model.fit(X, y, sample_weight=(y != 1).astype(float)).predict_proba(X)
        assert p.shape == (160, 4)
        assert p[:, 1].max() < 0.1
        np.testing.assert_allclose(p.sum(axis=1), 1)

    def test_an_estimator_that_takes_none(self):
        X, y = clouds()
        with pytest.raises(TypeError, match="fit of KNeighborsClassifier takes none"):
            StickEnsembleClassifier(KNeighborsClassifier()).fit(X, y, sample_weight=np.ones(160))
        with pytest.raises(ValueError, match="one number for each row"):
            StickEnsembleClassifier(GaussianNB()).fit(X, y, sample_weight=np.ones(3))

    def test_availability_is_refused_by_name(self):
        X, y = clouds()
        with pytest.raises(TypeError, match="availability: StickEnsembleClassifier takes none"):
            StickEnsembleClassifier(GaussianNB()).fit(X, y, availability=np.ones((len(y), 4)))

    def test_other_parameters_of_fit_are_cut_to_the_rows(self):
        X, y = clouds()
        model = StickEnsembleClassifier(Recorder(), order=[0, 1, 2, 3])
        model.fit(X, y, note=np.arange(160))
        last = model.estimators_[-1]
        assert np.array_equal(last.note_, np.flatnonzero(y >= 2))
        assert model.fit(X, y, note="all").estimators_[-1].note_ == "all"


class TestRouting:
    @pytest.fixture(autouse=True)
    def routing(self):
        with sklearn.config_context(enable_metadata_routing=True):
            yield

    def test_what_is_requested_arrives(self):
        X, y = clouds()
        inner = Recorder().set_fit_request(sample_weight=True, note=True)
        model = StickEnsembleClassifier(inner, cv=2).set_fit_request(sample_weight=True)
        model.fit(X, y, sample_weight=np.arange(160) + 1.0, note=np.arange(160))
        last = model.estimators_[-1]
        assert np.array_equal(last.weight_, last.note_ + 1)

    @pytest.mark.parametrize("search", ["lattice", "peel", "walk"])
    def test_a_step_of_a_pipeline_gets_weights(self, search):
        X, y = clouds()
        step = LogisticRegression().set_fit_request(sample_weight=True)
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), step)
        model = StickEnsembleClassifier(pipe, search=search, cv=2, random_state=0)
        model.set_fit_request(sample_weight=True)
        weights = np.where(y == 1, 30.0, 1.0)
        heavy = clone(model).fit(X, y, sample_weight=weights).predict_proba(X)[:, 1].mean()
        assert heavy > 1.3 * clone(model).fit(X, y).predict_proba(X)[:, 1].mean()

    def test_groups_and_what_nobody_requests(self):
        X, y = clouds()
        groups = np.arange(len(y)) % 7
        model = StickEnsembleClassifier(GaussianNB(), cv=GroupKFold(3))
        grouped = model.fit(X, y, groups=groups).log_loss_
        folds = list(GroupKFold(3).split(X, y, groups))
        assert clone(model).set_params(cv=folds).fit(X, y).log_loss_ == grouped
        with pytest.raises(TypeError, match="unexpected argument"):
            model.fit(X, y, colour="red")

    def test_within_cross_validation(self):
        X, y = clouds()
        inner = GaussianNB().set_fit_request(sample_weight=True)
        model = StickEnsembleClassifier(inner, cv=2).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=False)
        scores = cross_val_score(model, X, y, params={"sample_weight": np.ones(160)}, cv=2)
        assert scores.min() > 0.5


class TestEstimator:
    def test_without_predict_proba(self):
        X, y = clouds()
        for inner, name in ((LinearSVC(), "LinearSVC"), (make_pipeline(SVC()), "Pipeline")):
            with pytest.raises(TypeError, match=f"{name} has no predict_proba.*Calibrated"):
                StickEnsembleClassifier(inner).fit(X, y)
        with pytest.raises(TypeError, match="Ridge is no classifier"):
            StickEnsembleClassifier(Ridge()).fit(X, y)
        with pytest.raises(TypeError, match=r"write GaussianNB\(\)"):
            StickEnsembleClassifier(GaussianNB).fit(X, y)
        with pytest.raises(ValueError, match="'estimator' parameter"):
            StickEnsembleClassifier("logistic").fit(X, y)
        with pytest.raises(ValueError, match="precomputed"):
            StickEnsembleClassifier(KNeighborsClassifier(metric="precomputed")).fit(X, y)

    def test_a_classifier_of_regressions_is_refused(self):
        X, y = clouds()
        with pytest.raises(ValueError, match="Unknown label type"):
            StickEnsembleClassifier(GaussianNB()).fit(X, y + 0.5 * X[:, 0])
        with pytest.raises(ValueError, match="one class only"):
            StickEnsembleClassifier(GaussianNB()).fit(X, np.zeros(160))
        with pytest.raises(ValueError, match="first in row 3"):
            StickEnsembleClassifier(GaussianNB()).fit(X[:4], ["a", "b", None, "a"])

    def test_a_fit_that_fails_leaves_the_model_as_it_was(self):
        X, y = clouds()
        model = StickEnsembleClassifier(GaussianNB(), random_state=0).fit(X, y)
        before = model.predict_proba(X)
        with pytest.raises(ValueError, match="NaN"):
            model.fit(np.full((160, 3), np.nan), y)
        assert np.array_equal(model.predict_proba(X), before)

    def test_parameters_reach_the_estimator(self):
        X, y = clouds()
        model = StickEnsembleClassifier(KNeighborsClassifier(), cv=2, random_state=0)
        assert model.get_params()["estimator__n_neighbors"] == 5
        search = GridSearchCV(model, {"estimator__n_neighbors": [1, 9]}, cv=2).fit(X, y)
        assert search.best_params_["estimator__n_neighbors"] == 9
        assert search.best_estimator_.estimators_[0].n_neighbors == 9

    def test_pickled_and_nested(self):
        X, y = clouds()
        model = StickEnsembleClassifier(GaussianNB(), random_state=0).fit(X, y)
        again = pickle.loads(pickle.dumps(model))
        assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
        calibrated = CalibratedClassifierCV(StickEnsembleClassifier(GaussianNB(), cv=2), cv=2)
        assert calibrated.fit(X, y).score(X, y) > 0.6

    def test_one_of_the_packages_own(self):
        X, y = clouds(3, 60)
        inner = pasb.StickLogisticClassifier(
            n_chains=1, n_warmup=50, n_draws=50, progress=False, n_jobs=1
        )
        model = StickEnsembleClassifier(inner, order=[1, 0, 2], random_state=0)
        with pytest.warns(pasb.ConvergenceWarning):
            assert model.fit(X, y).score(X, y) > 0.5

    def test_parameters_are_described_and_constrained(self):
        names = list(inspect.signature(StickEnsembleClassifier).parameters)
        assert list(StickEnsembleClassifier._parameter_constraints) == names
        section = inspect.getdoc(StickEnsembleClassifier).split("Attributes\n")[0]
        assert re.findall(r"^(\w+) : ", section, flags=re.MULTILINE) == names

    def test_tags(self):
        tags = get_tags(StickEnsembleClassifier(LogisticRegression()))
        assert is_classifier(StickEnsembleClassifier(LogisticRegression()))
        assert tags.input_tags.sparse
        assert not get_tags(StickEnsembleClassifier(GaussianNB())).input_tags.sparse
        assert "GaussianNB" in repr(StickEnsembleClassifier(GaussianNB()))

"""The order of sticks with any estimator: searches, and the folds that they share."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold, ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from tests.classifiers.ensembles import clouds

from pasb import StickEnsembleClassifier
from pasb.classifiers.stick_ensemble_order import dealt, lattice_sticks, peeled_sticks


class TestOrder:
    @pytest.mark.parametrize("n_classes", [3, 4])
    def test_the_lattice_finds_the_best_of_all_orders(self, n_classes):
        """Each order by hand, with the folds of the model."""
        X, y = clouds(n_classes)
        folds = list(ShuffleSplit(3, random_state=0).split(X))
        model = StickEnsembleClassifier(GaussianNB(), search="lattice", cv=folds).fit(X, y)

        def loss(order):
            parts = []
            for train, test in folds:
                fixed = StickEnsembleClassifier(GaussianNB(), order=order)
                p = fixed.fit(X[train], y[train]).predict_proba(X[test])
                parts.append(log_loss(y[test], p, labels=range(n_classes)))
            return np.mean(parts)

        losses = {o: loss(list(o)) for o in itertools.permutations(range(n_classes))}
        best = min(losses.values())
        assert losses[tuple(model.order_.tolist())] == pytest.approx(best, rel=1e-9)
        assert model.log_loss_ == pytest.approx(best, rel=1e-6)
        assert max(losses.values()) > 1.02 * best

    @pytest.mark.parametrize("n_classes", [3, 4, 5])
    def test_numbers_of_fits(self, n_classes):
        X, y = clouds(n_classes)
        settings = {"cv": 4, "random_state": 0}
        lattice = StickEnsembleClassifier(GaussianNB(), search="lattice", **settings).fit(X, y)
        assert lattice.n_fits_ == 4 * lattice_sticks(n_classes) + n_classes - 1
        assert len(lattice.stick_scores_) == lattice_sticks(n_classes)
        peel = StickEnsembleClassifier(GaussianNB(), search="peel", **settings).fit(X, y)
        assert peel.n_fits_ == 4 * peeled_sticks(n_classes) + n_classes - 1
        walk = StickEnsembleClassifier(GaussianNB(), search="walk", **settings).fit(X, y)
        assert lattice.log_loss_ <= walk.log_loss_ + 1e-12
        assert walk.log_loss_ <= peel.log_loss_ + 1e-12
        for model in (peel, walk):
            shared = {k: lattice.stick_scores_[k] for k in model.stick_scores_}
            assert model.stick_scores_ == pytest.approx(shared)

    def test_searches_keep_to_their_budget(self):
        X, y = clouds(9, 300)
        few = {"cv": 2, "random_state": 0}
        for most in (40, 86, 100, 150):
            model = StickEnsembleClassifier(GaussianNB(), max_fits=most, **few).fit(X, y)
            assert model.n_fits_ - 8 <= most
            assert sorted(model.order_) == list(range(9))
        X, y = clouds(13, 300)
        model = StickEnsembleClassifier(GaussianNB(), search="lattice", **few)
        with pytest.raises(ValueError, match="up to 12 classes, and y has 13: 106,314 fits"):
            model.fit(X, y)

    @pytest.mark.parametrize("n_classes", [8, 9])
    def test_all_orders_of_up_to_eight_classes_by_default(self, n_classes):
        X, y = clouds(n_classes, 200)
        model = StickEnsembleClassifier(GaussianNB(), cv=2, random_state=0).fit(X, y)
        compares_all = len(model.stick_scores_) == lattice_sticks(n_classes)
        assert compares_all == (n_classes <= 8)
        if not compares_all:
            assert model.n_fits_ + model.n_shares_ <= 1000 + 8

    def test_last_two_classes_are_sorted(self):
        X, y = clouds(5)
        for search in ("lattice", "walk", "peel"):
            model = StickEnsembleClassifier(GaussianNB(), search=search, random_state=0).fit(X, y)
            assert model.order_[-2] < model.order_[-1]

    def test_a_wrong_order_is_refused(self):
        X, y = clouds()
        with pytest.raises(ValueError, match="order: 7 is not a class"):
            StickEnsembleClassifier(GaussianNB(), order=[0, 1, 2, 7]).fit(X, y)


class TestFolds:
    def test_each_class_is_dealt_out_evenly(self):
        y = np.repeat([0, 1, 2], [23, 4, 1])
        folds = dealt(y, 5, np.random.default_rng(0))
        assert sorted(np.concatenate([fold.test for fold in folds])) == list(range(28))
        for fold in folds:
            assert not set(fold.train) & set(fold.test)
            assert len(fold.train) + len(fold.test) == 28
            assert 4 <= np.sum(y[fold.test] == 0) <= 5
            assert np.sum(y[fold.test] == 1) <= 1

    def test_classes_with_fewer_rows_than_folds(self):
        X, y = clouds()
        X, y = np.vstack([X, [[9.0, 9.0], [9.5, 9.0]]]), np.append(y, [4, 5])
        model = StickEnsembleClassifier(GaussianNB(), random_state=0).fit(X, y)
        assert model.n_shares_ > 0
        p = model.predict_proba(X)
        np.testing.assert_allclose(p.sum(axis=1), 1)
        assert p.shape == (162, 6)
        assert np.isfinite(model.log_loss_)

    def test_more_folds_than_rows(self):
        X, y = np.arange(6.0)[:, None], [0, 1, 2, 0, 1, 2]
        model = StickEnsembleClassifier(LogisticRegression(), cv=50).fit(X, y)
        assert sorted(model.order_) == [0, 1, 2]
        with pytest.raises(ValueError, match=r"an int in the range \[2, inf\)"):
            StickEnsembleClassifier(LogisticRegression(), cv=1).fit(X, y)

    def test_groups_go_to_the_splitter(self):
        X, y = clouds()
        groups = np.arange(len(y)) % 7
        model = StickEnsembleClassifier(GaussianNB(), cv=GroupKFold(3))
        grouped = model.fit(X, y, groups=groups).log_loss_
        folds = list(GroupKFold(3).split(X, y, groups))
        assert model.set_params(cv=folds).fit(X, y).log_loss_ == grouped
        with pytest.raises(ValueError, match="groups are given, but cv is a number"):
            StickEnsembleClassifier(GaussianNB()).fit(X, y, groups=groups)

    def test_an_estimator_that_fails_says_on_which_stick(self):
        X, y = clouds()
        X, y = np.vstack([X, [[9.0, 9.0], [9.5, 9.0]]]), np.append(y, [4, 4])
        inner = CalibratedClassifierCV(GaussianNB(), cv=3)
        with pytest.raises(ValueError, match="less than 3 examples") as caught:
            StickEnsembleClassifier(inner, random_state=0).fit(X, y)
        assert "This happened on the stick" in caught.value.__notes__[0]
        assert re.search(r"fold \d leaves in.*2 of 4 in all", caught.value.__notes__[0])
        neighbours = StickEnsembleClassifier(KNeighborsClassifier(60), random_state=0)
        with pytest.raises(ValueError, match="n_neighbors") as caught:
            neighbours.fit(X, y)
        assert "This happened on the stick" in caught.value.__notes__[0]

"""Multinomial and nested logits of choice tables, estimated by Biogeme."""

from __future__ import annotations

import contextlib
import logging
import tempfile

import numpy as np
import pandas as pd
from choice_tables import ChoiceTable


def column(*words: str) -> str:
    """A name that Biogeme takes."""
    return "_".join(words).replace(" ", "_")


def columns_of(table: ChoiceTable) -> pd.DataFrame:
    """All numbers of a table under Biogeme's names; alternatives count from 1."""
    frame = table.chooser.rename(columns=column)
    for name, own in table.attributes.items():
        frame = frame.join(own.rename(columns=lambda a, name=name: column(name, a)))
    frame = frame.join(table.available.astype(int).rename(columns=lambda a: column("available", a)))
    return frame.assign(chosen=table.chosen + 1)


class Logit:
    """A logit by maximum likelihood.

    Parameters
    ----------
    full : bool
        Coefficients of attributes are specific to alternatives, and choosers' covariates have one
        for each alternative but the last. Otherwise attributes have one generic coefficient each,
        and choosers' covariates none: the classic specification.
    nested : bool
        With the nests of the table.
    """

    def __init__(self, full: bool, nested: bool):
        self.full, self.nested = full, nested

    def _model(self, table: ChoiceTable):
        """Utilities, availability and nests, as Biogeme's expressions."""
        from biogeme.expressions import Beta, Variable
        from biogeme.nests import NestsForNestedLogit, OneNestForNestedLogit

        utilities, available = {}, {}
        for j, name in enumerate(table.alternatives, 1):
            last = j == len(table.alternatives)
            utility = Beta(column("asc", name), 0, None, None, int(last))
            for attribute, own in table.attributes.items():
                if own[name].nunique() > 1:  # not the headway of a car
                    which = (attribute, name) if self.full else (attribute,)
                    utility += Beta(column("b", *which), 0, None, None, 0) * Variable(
                        column(attribute, name)
                    )
            for covariate in table.chooser.columns if self.full and not last else ():
                utility += Beta(column("g", covariate, name), 0, None, None, 0) * Variable(
                    column(covariate)
                )
            utilities[j], available[j] = utility, Variable(column("available", name))
        nests = [
            OneNestForNestedLogit(
                nest_param=Beta(column("mu", name), 1.2, 1.0, 10.0, 0),
                list_of_alternatives=[table.alternatives.index(a) + 1 for a in members],
                name=name,
            )
            for name, members in table.nests.items()
        ]
        return utilities, available, NestsForNestedLogit(list(utilities), tuple(nests))

    def fit(self, table: ChoiceTable) -> Logit:
        from biogeme import models
        from biogeme.biogeme import BIOGEME
        from biogeme.database import Database
        from biogeme.expressions import Variable

        utilities, available, nests = self._model(table)
        self.utilities, self.available, self.nests = utilities, available, nests
        chosen = Variable("chosen")
        if self.nested:
            loglikelihood = models.lognested(utilities, available, nests, chosen)
        else:
            loglikelihood = models.loglogit(utilities, available, chosen)
        with quietly():
            problem = BIOGEME(Database("train", columns_of(table)), loglikelihood, **settings())
            found = problem.quick_estimate()  # without standard errors
        self.betas, self.log_likelihood = found.get_beta_values(), found.final_log_likelihood
        return self

    def predict_proba(self, table: ChoiceTable) -> np.ndarray:
        from biogeme import models
        from biogeme.biogeme import BIOGEME
        from biogeme.database import Database

        def probability(j: int):
            if self.nested:
                return models.nested(self.utilities, self.available, self.nests, j)
            return models.logit(self.utilities, self.available, j)

        formulas = {str(j): probability(j) for j in self.utilities}
        with quietly():
            problem = BIOGEME(Database("test", columns_of(table)), formulas, **settings())
            p = problem.simulate(self.betas)[[str(j) for j in self.utilities]].to_numpy()
        return np.nan_to_num(np.where(table.available.to_numpy(), p, 0.0))


def settings() -> dict:
    """No files: Biogeme would also write one of its parameters, and fails there by tomlkit 0.14."""
    from biogeme.parameters import Parameters

    files = ("generate_html", "generate_yaml", "save_iterations")
    method = {
        "calculating_second_derivatives": "never",  # compiling them takes minutes
        "optimization_algorithm": "simple_bounds_BFGS",
    }
    return {"parameters": Parameters(), **dict.fromkeys(files, False), **method}


@contextlib.contextmanager
def quietly():
    """Biogeme writes files into the current folder, and logs."""
    logging.disable(logging.WARNING)
    try:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            yield
    finally:
        logging.disable(logging.NOTSET)

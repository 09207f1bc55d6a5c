"""The tables and figures of the paper, one file each, all of the same shape."""

from __future__ import annotations

from reproduction.paper.experiments.active_experts import ActiveExperts
from reproduction.paper.experiments.best_draw import BestDraw
from reproduction.paper.experiments.error_rates import ErrorRates
from reproduction.paper.experiments.ess import Ess
from reproduction.paper.experiments.experiment import Experiment
from reproduction.paper.experiments.expert_weights import ExpertWeights
from reproduction.paper.experiments.iris import Iris
from reproduction.paper.experiments.robustness import Robustness
from reproduction.paper.experiments.satimage_orders import SatimageOrders
from reproduction.paper.experiments.square import Square
from reproduction.paper.experiments.square101 import Square101
from reproduction.paper.experiments.swiss_roll import SwissRoll

__all__ = ["EXPERIMENTS", "Experiment"]

#: by name, in the order of the report
EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        ErrorRates(),
        BestDraw(),
        Ess(),
        Iris(),
        Square(),
        Square101(),
        SatimageOrders(),
        ExpertWeights(),
        SwissRoll(),
        ActiveExperts(),
        Robustness(),
    )
}

"""The tables and figures of the paper, one file each, all of the same shape."""

from __future__ import annotations

from pasb.paper.experiments.active_experts import ActiveExperts
from pasb.paper.experiments.base import Experiment
from pasb.paper.experiments.best_draw import BestDraw
from pasb.paper.experiments.error_rates import ErrorRates
from pasb.paper.experiments.ess import Ess
from pasb.paper.experiments.expert_weights import ExpertWeights
from pasb.paper.experiments.iris import Iris
from pasb.paper.experiments.robustness import Robustness
from pasb.paper.experiments.satimage_orders import SatimageOrders
from pasb.paper.experiments.square import Square
from pasb.paper.experiments.square101 import Square101
from pasb.paper.experiments.swiss_roll import SwissRoll

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

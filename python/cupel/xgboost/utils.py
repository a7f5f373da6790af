"""Trees of a model as arrays."""

from __future__ import annotations

import numpy as np
import xgboost

from ..exceptions import SMDebugValueError
from .trees import Features, trees_of_round

__all__ = ["parse_tree_model"]


def parse_tree_model(booster: xgboost.Booster, iteration: int) -> dict[str, np.ndarray]:
    """The nodes of all trees that the round `iteration` of the model has added, by column.

    Columns are Tree, Node, ID, Feature, Split, Yes, No, Missing, Gain, Cover and Category, with one
    row for each node. Raises SMDebugValueError for a round that the model does not have.
    """
    rounds = booster.num_boosted_rounds()
    if not 0 <= iteration < rounds:
        raise SMDebugValueError(f"the model has {rounds} rounds, none of number {iteration}")
    columns = trees_of_round(booster, iteration, Features(booster, [])).columns()
    return {name: np.array(column) for name, column in columns.items()}

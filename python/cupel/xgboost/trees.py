"""Questions about the model of a booster: its features, and the trees of one round."""

from __future__ import annotations

import json
from typing import Any, Iterable

import xgboost

from .. import _native

# An indicator has neither threshold nor missing branch in a dump: as a number it has both.
_TYPES_IN_DUMPS = ("c", "int")


class Features:
    """The features of a model, in the order of its columns.

    Names and types are each those of the booster, else those of the first of the data that has one
    for every feature, else f0, f1 ... and numbers.
    """

    def __init__(self, booster: xgboost.Booster, data: Iterable[Any]) -> None:
        count = booster.num_features()
        sources = [booster, *data]
        self.are_named = bool(booster.feature_names)
        self.names = _first_complete([each.feature_names for each in sources], count) or [
            f"f{i}" for i in range(count)
        ]
        types = _first_complete([each.feature_types for each in sources], count) or ["q"] * count
        self.types = [each if each in _TYPES_IN_DUMPS else "q" for each in types]

    def __len__(self) -> int:
        return len(self.names)

    def name_of(self, key: str) -> str:
        """The name of a feature that a score of the booster calls by `key`."""
        return key if self.are_named else self.names[int(key[1:])]


def _first_complete(sources: Iterable[Any], count: int) -> list[str]:
    for texts in sources:
        if texts is not None and count > 0 and len(texts) == count:
            return list(texts)
    return []


def has_trees(booster: xgboost.Booster) -> bool:
    """Whether the booster is one of trees: any but gblinear."""
    config = json.loads(booster.save_config())
    name: str = config["learner"]["gradient_booster"]["name"]
    return name != "gblinear"


def trees_of_round(
    booster: xgboost.Booster, iteration: int, features: Features
) -> _native.TreeTable:
    """The nodes of the trees that a round has added, ordered by tree and node."""
    layer = booster[iteration : iteration + 1]
    # The reader of dumps gives features their names: a name may hold what breaks the text.
    layer.feature_names = [f"f{i}" for i in range(len(features))]
    layer.feature_types = features.types
    dumps = layer.get_dump(with_stats=True, dump_format="json")
    return _native.read_trees(len(dumps) * iteration, dumps, features.names)

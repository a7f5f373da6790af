"""The hook for XGBoost: a callback that saves what a training shows, one step an iteration.

An iteration is a step: it begins, what is due in it is asked of xgboost and saved, and it is
committed. Every collection is asked for by itself: what no collection wants is not computed. An
error leaves out one collection until the next training begins; each reason is reported once.
"""

from __future__ import annotations

import os
import re
from typing import Any, Callable, Iterable, Mapping, Optional, Union

import numpy as np
import xgboost

from .. import _native
from ..core import hook_registry
from ..core.base_hook import BaseHook, Names
from ..exceptions import SMDebugTypeError
from .trees import Features, has_trees, trees_of_round

__all__ = ["Hook", "get_hook"]

Data = Union[None, xgboost.DMatrix, "tuple[str, str]"]

_IMPORTANCES = ("weight", "gain", "cover", "total_gain", "total_cover")
_MODEL = "model"  # stands for all collections of the model
_CONTRIBUTIONS = ("average_shap", "full_shap")
_METRIC = "train-rmse"  # a name in metrics and losses
# The clock and the place in xgboost's source, which stand before a message.
_PLACE = re.compile(r"^\[\d\d:\d\d:\d\d\] [^ ]*:\d+: ")


def _reason(error: BaseException) -> str:
    """The first line of a message, without clock and path."""
    lines = str(error).splitlines() or [type(error).__name__]
    return _PLACE.sub("", lines[0])


def _hyperparameter(value: Any) -> Optional[np.ndarray]:
    """A parameter as an array; None for one that is not saved."""
    if value is None:
        return None
    if isinstance(value, np.generic):
        value = value.item()
    known = (bool, int, float, str)
    if isinstance(value, (list, tuple)):
        elements = list(value)
        if not all(isinstance(each, known) for each in elements):
            elements = [str(each) for each in elements]
        if any(isinstance(each, str) for each in elements):
            elements = [str(each) for each in elements]
    else:
        elements = [value if isinstance(value, known) else str(value)]
    array = np.array(elements)
    return array if array.dtype != object else np.array([str(each) for each in elements])


class _Names:
    """Names of tensors, and the collections that have none of them.

    Patterns are searched only where a collection is due that has any of the names.
    """

    def __init__(self, names: Iterable[str], collections: Mapping[str, Any]) -> None:
        self.names = list(names)
        # The patterns of the hook itself are in the collections all and default.
        self._unrelated = [
            name
            for name, collection in collections.items()
            if name not in ("all", "default")
            and not any(map(collection.has_tensor_name, self.names))
        ]

    def due(self, engine: _native.Hook) -> list[str]:
        """The names that are saved at this step."""
        if not engine.due_beyond(self._unrelated):
            return []
        return [name for name in self.names if engine.would_save(name)]


class Hook(BaseHook, xgboost.callback.TrainingCallback):
    """Saves what a training of XGBoost shows, as a callback.

        hook = Hook(out_dir="runs/boost", include_collections=["feature_importance", "trees"])
        xgboost.train(params, dtrain, 200, evals=[(dtrain, "train")], callbacks=[hook])
        hook.close()

    It serves xgboost.train, xgboost.cv (without collections of the model) and the classes for
    scikit-learn. Each iteration is a step; by default every tenth is saved.

    hyperparameters: the parameters of the training, for the collection hyperparameters.
    train_data: the data for average_shap and full_shap.
    validation_data: the data for predictions and labels.

    The three are attributes, which may be set later. Data are a DMatrix, or the path of a local
    file and its format, (path, "csv") or (path, "libsvm"). A collection whose data are missing is
    left out, which is reported once. The other arguments are those of
    cupel.core.base_hook.BaseHook; a reduction_config of the hook is ignored with a warning,
    collections may have one.
    """

    _profile = _native.Profile.XGBOOST
    hyperparameters: Optional[Mapping[str, Any]]
    train_data: Data
    validation_data: Data

    def __init__(
        self,
        out_dir: Optional[str] = None,
        export_tensorboard: bool = False,
        tensorboard_dir: Optional[str] = None,
        dry_run: bool = False,
        reduction_config: Optional[_native.ReductionConfig] = None,
        save_config: Any = None,
        include_regex: Names = None,
        include_collections: Names = None,
        save_all: bool = False,
        include_workers: str = "one",
        hyperparameters: Optional[Mapping[str, Any]] = None,
        train_data: Data = None,
        validation_data: Data = None,
        **options: Any,
    ) -> None:
        if hyperparameters is not None and not isinstance(hyperparameters, Mapping):
            kind = type(hyperparameters).__name__
            raise SMDebugTypeError(f"hyperparameters are a mapping, not {kind}")
        super().__init__(
            out_dir,
            export_tensorboard,
            tensorboard_dir,
            dry_run,
            reduction_config,
            save_config,
            include_regex,
            include_collections,
            save_all,
            include_workers,
            **options,
        )
        self.hyperparameters = hyperparameters
        self.train_data = train_data
        self.validation_data = validation_data

    def _begin_life(self) -> None:
        super()._begin_life()
        self.hyperparameters = None
        self.train_data = None
        self.validation_data = None
        self._left_out: set[str] = set()  # collections, in this training
        self._reported: set[tuple[str, str]] = set()  # collections and why, in any training
        self._names: dict[str, _Names] = {}
        self._loaded: dict[tuple[str, str], xgboost.DMatrix] = {}
        self._features: Optional[Features] = None
        self._is_of_trees: Optional[bool] = None
        self._model: Any = None
        self._offset = 0  # of a step from its iteration
        self._has_reported_offset = False

    def _first_step_options(self) -> dict[str, Any]:
        from xgboost import collective

        if not collective.is_distributed():
            return {}
        return {
            "worker": f"worker_{collective.get_rank()}",
            "num_workers": collective.get_world_size(),
        }

    # ---- What xgboost calls

    def before_training(self, model: Any) -> Any:
        """Begins a training: collections that the last one left out are tried again."""
        self._forget_training()
        return model

    def after_training(self, model: Any) -> Any:
        """Ends a training. The hook no longer holds its model."""
        self._forget_training()
        return model

    def _forget_training(self) -> None:
        self._left_out.clear()
        self._names.clear()
        self._model = self._features = self._is_of_trees = None

    def close(self) -> Optional[_native.HookReport]:
        """Commits the last step and ends the run; the hook no longer holds model and data."""
        try:
            return super().close()
        finally:
            self._forget_training()
            self._loaded.clear()
            self.train_data = self.validation_data = None

    def after_iteration(self, model: Any, epoch: int, evals_log: Mapping[str, Any]) -> bool:
        """Saves the iteration as a step; true, which ends the training, if a stop was requested.

        The step is committed when the call returns. The first iteration whose number is not above
        the last step begins a second training, whose steps follow that step.
        """
        if self._closed:
            return False
        self._begin_iteration(epoch)
        engine = self._engine
        if engine is None:
            return False
        if engine.due:
            self._save_due(engine, model, evals_log)
        self.end_step()
        return bool(engine.stop_requested)

    def _begin_iteration(self, iteration: int) -> None:
        if not self._open():
            return
        step = iteration + self._offset
        last = self.step  # of the run that is continued, where there is one
        if step <= last:
            step = last + 1
            self._offset = step - iteration
        self.next_step(step)
        if self._offset and not self._has_reported_offset:
            self._has_reported_offset = True
            self._engine.report_problem(
                f"the number of iteration {iteration} is not above the last step, {last}: a second "
                f"training goes on as step {step} (reported once)"
            )

    # ---- What is due

    def _due(
        self, engine: _native.Hook, part: str, names: Callable[[], Iterable[str]]
    ) -> list[str]:
        """The tensors of a part that are saved at this step; `names` lists all, once."""
        if part in self._left_out:
            return []
        if part not in self._names:
            self._names[part] = _Names(names(), self.collection_manager.get_collections())
        return self._names[part].due(engine)

    def _leave_out(self, part: str, why: str) -> None:
        self._left_out.add(part)
        what = "collections of the model are" if part == _MODEL else f"collection {part} is"
        if (part, why) not in self._reported:
            self._reported.add((part, why))
            self._engine.report_problem(f"the {what} left out from step {self.step} on: {why}")

    def _computed(self, part: str, compute: Callable[[], Any]) -> Any:
        """What `compute` returns; None, and the part is left out from now on, where it fails."""
        try:
            return compute()
        except Exception as error:
            self._leave_out(part, _reason(error))
            return None

    def _save_part(self, parts: Iterable[str], save: Callable[..., None], *given: Any) -> None:
        """Calls `save`; where it fails, only its collections are left out."""
        try:
            save(*given)
        except Exception as error:
            if self._options["on_error"] == "throw":
                raise
            for part in parts:
                if part not in self._left_out:
                    self._leave_out(part, _reason(error))

    def _save_due(self, engine: _native.Hook, model: Any, evals_log: Mapping[str, Any]) -> None:
        self._save_part(["metrics"], self._save_metrics, engine, evals_log)
        self._save_part(["hyperparameters"], self._save_hyperparameters, engine)
        self._save_part(["labels"], self._save_labels, engine)
        if isinstance(model, xgboost.Booster):
            if model is not self._model:
                self._model, self._features, self._is_of_trees = model, None, None
                for part in ("feature_importance", "average_shap"):
                    self._names.pop(part, None)
            self._save_part(["predictions"], self._save_predictions, engine, model)
            self._save_part(["feature_importance"], self._save_importance, engine, model)
            self._save_part(_CONTRIBUTIONS, self._save_contributions, engine, model)
            self._save_part(["trees"], self._save_trees, engine, model)
        elif _MODEL not in self._left_out and self._wants_model(engine):
            self._leave_out(_MODEL, "cv trains several models")

    def _wants_model(self, engine: _native.Hook) -> bool:
        names = ["predictions", "full_shap/matrix", "average_shap/bias", "trees/Tree"]
        names += ["average_shap/f0", "feature_importance/weight/f0"]
        return any(map(engine.would_save, names))

    def _data(self, which: str) -> xgboost.DMatrix:
        """The data of an attribute; a file is read when it is first asked for."""
        data = getattr(self, which)
        if data is None:
            raise ValueError(f"the hook has no {which}")
        if isinstance(data, xgboost.DMatrix):
            return data
        try:
            path, kind = data
            path = os.path.abspath(os.path.expanduser(os.fspath(path)))
        except (TypeError, ValueError):
            raise ValueError(
                f'{which} is a DMatrix, or a path and "csv" or "libsvm", not {data!r}'
            ) from None
        if kind not in ("csv", "libsvm"):
            raise ValueError(f'the format of {which} is "csv" or "libsvm", not {kind!r}')
        if (path, kind) not in self._loaded:
            label = "&label_column=0" if kind == "csv" else ""
            self._loaded[path, kind] = xgboost.DMatrix(f"{path}?format={kind}{label}")
        return self._loaded[path, kind]

    def _features_of(self, model: xgboost.Booster) -> Features:
        if self._features is None:
            data = [self.train_data, self.validation_data]
            known = [each for each in data if isinstance(each, xgboost.DMatrix)]
            self._features = Features(model, known)
        return self._features

    def _require_trees(self, model: xgboost.Booster) -> None:
        if self._is_of_trees is None:
            self._is_of_trees = has_trees(model)
        if not self._is_of_trees:
            raise ValueError("the booster gblinear has no trees")

    # ---- Values

    def _save_metrics(self, engine: _native.Hook, evals_log: Mapping[str, Any]) -> None:
        if not evals_log and "metrics" not in self._left_out and engine.would_save(_METRIC):
            self._leave_out("metrics", "the training has no evals")
        for data, metrics in evals_log.items():
            for metric, values in metrics.items():
                name = f"{data}-{metric}"
                if engine.would_save(name):
                    engine.save_tensor(name, np.array(values[-1], dtype=np.float64).reshape(-1))

    def _save_hyperparameters(self, engine: _native.Hook) -> None:
        if self.hyperparameters is None:
            # Not where everything is saved: "/" is a name that only a pattern for all names finds.
            if (
                "hyperparameters" not in self._left_out
                and engine.would_save("hyperparameters/")
                and not engine.would_save("/")
            ):
                self._leave_out("hyperparameters", "the hook has no hyperparameters")
            return
        if not isinstance(self.hyperparameters, Mapping):
            kind = type(self.hyperparameters).__name__
            raise SMDebugTypeError(f"hyperparameters are a mapping, not {kind}")
        for key, value in self.hyperparameters.items():
            name = f"hyperparameters/{key}"
            if engine.would_save(name) and (array := _hyperparameter(value)) is not None:
                engine.save_tensor(name, array)

    def _save_labels(self, engine: _native.Hook) -> None:
        def labels() -> np.ndarray:
            data = self._data("validation_data")
            found = np.asarray(data.get_label())
            if found.size == 0:
                raise ValueError("the data have no labels")
            rows = data.num_row()
            return found if found.size == rows else found.reshape(rows, -1)

        if self._due(engine, "labels", lambda: ["labels"]):
            if (found := self._computed("labels", labels)) is not None:
                engine.save_tensor("labels", found)

    def _save_predictions(self, engine: _native.Hook, model: xgboost.Booster) -> None:
        if not self._due(engine, "predictions", lambda: ["predictions"]):
            return
        predicted = self._computed(
            "predictions", lambda: model.predict(self._data("validation_data"))
        )
        if predicted is not None:
            engine.save_tensor("predictions", predicted)

    def _save_importance(self, engine: _native.Hook, model: xgboost.Booster) -> None:
        due = self._due(
            engine,
            "feature_importance",
            lambda: (
                f"feature_importance/{kind}/{feature}"
                for kind in _IMPORTANCES
                for feature in self._features_of(model).names
            ),
        )
        if due:
            wanted = set(due)
            kinds = [k for k in _IMPORTANCES if any(n.split("/", 2)[1] == k for n in due)]
            shares = self._computed("feature_importance", lambda: self._shares(model, kinds))
            for name, share in (shares or {}).items():
                if name in wanted:
                    engine.save_tensor(name, np.array([share]))

    def _shares(self, model: xgboost.Booster, kinds: Iterable[str]) -> dict[str, np.float64]:
        """The score of each feature over the sum of them all."""
        self._require_trees(model)
        features = self._features_of(model)
        shares = {}
        for kind in kinds:
            scores: Mapping[str, Any] = model.get_score(importance_type=kind)
            total = np.float64(sum(scores.values()))
            for key, score in scores.items():
                shares[f"feature_importance/{kind}/{features.name_of(key)}"] = score / total
        return shares

    def _save_contributions(self, engine: _native.Hook, model: xgboost.Booster) -> None:
        """Saves the contributions of features, computed once for both collections."""
        names = self._due(
            engine,
            "average_shap",
            lambda: (f"average_shap/{name}" for name in [*self._features_of(model).names, "bias"]),
        )
        full = self._due(engine, "full_shap", lambda: ["full_shap/matrix"])
        if not names and not full:
            return
        features = self._features_of(model).names
        try:
            contributions = model.predict(self._data("train_data"), pred_contribs=True)
            if contributions.shape[-1] != len(features) + 1:
                raise ValueError(
                    f"xgboost gives contributions of the shape {contributions.shape} "
                    f"for {len(features)} features"
                )
        except Exception as error:
            for part, due in zip(_CONTRIBUTIONS, (names, full)):
                if due:
                    self._leave_out(part, _reason(error))
            return
        if full:
            engine.save_tensor("full_shap/matrix", contributions)
        if not names:
            return
        if contributions.size == 0:
            return self._leave_out("average_shap", "train_data has no rows")
        rows = contributions.reshape(-1, len(features) + 1)
        means = rows.mean(axis=0, dtype=np.float64).astype(np.float32)
        # A feature that is called bias has the name: it replaces the bias of the model.
        by_name = dict(zip(["bias", *features], [means[-1], *means[:-1]]))
        for name in names:
            engine.save_tensor(name, by_name[name[len("average_shap/") :]].reshape(1))

    def _save_trees(self, engine: _native.Hook, model: xgboost.Booster) -> None:
        if self._due(engine, "trees", lambda: (f"trees/{n}" for n in _native.TreeTable.names)):
            table = self._computed("trees", lambda: self._trees_of_last_round(model))
            if table is not None:
                table.save(engine)

    def _trees_of_last_round(self, model: xgboost.Booster) -> _native.TreeTable:
        self._require_trees(model)
        # The number of the iteration is no place in the model: continued training counts anew.
        return trees_of_round(model, model.num_boosted_rounds() - 1, self._features_of(model))


def get_hook(
    json_config_path: Optional[str] = None, create_if_not_exists: bool = False
) -> Optional[Hook]:
    """The hook of this process, which is created if there is none.

    It is created of the configuration file, or without one of the defaults.
    """

    def create() -> Hook:
        if hook_registry.configuration_exists(json_config_path):
            return Hook.create_from_json_file(json_config_path)
        return Hook._configured(_native.parse_hook_configuration("{}", "defaults", Hook._profile))

    return hook_registry.get_hook(Hook, create)

# requires: xgboost
"""The collections of a training, each against the same quantity asked of xgboost itself."""

import json
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import xgboost

import cupel.xgboost
from cupel.exceptions import SMDebugRuntimeError, SMDebugTypeError, SMDebugValueError
from cupel.xgboost import Hook, SaveConfig
from cupel.xgboost.utils import parse_tree_model

EVERY_STEP = SaveConfig(save_interval=1)
ROUNDS = 3
FEATURES = ["width", "height", "na me/ü", 'quo"te']
IMPORTANCES = ["weight", "gain", "cover", "total_gain", "total_cover"]

OBJECTIVES = {
    "binary": {"objective": "binary:logistic", "eval_metric": ["logloss", "auc", "error@0.7"]},
    "regression": {"objective": "reg:squarederror"},
    "softprob": {"objective": "multi:softprob", "num_class": 3, "num_parallel_tree": 2},
    "ranking": {"objective": "rank:pairwise", "eval_metric": ["ndcg@2", "map"]},
}
BOOSTERS = ["gbtree", "dart"]


def make_data(objective, rows=80, seed=0, names=FEATURES):
    random = np.random.default_rng(seed)
    features = random.normal(size=(rows, 4)).astype(np.float32)
    score = features[:, 0] + 0.5 * features[:, 1] * features[:, 2]
    labels = {
        "binary": (score > 0).astype(int),
        "regression": score,
        "softprob": np.digitize(score, [-0.5, 0.5]),
        "ranking": (score > 0).astype(int),
    }[objective]
    data = xgboost.DMatrix(features, label=labels, feature_names=names)
    if objective == "ranking":
        data.set_group([rows // 4] * 4)
    return data


class Models(xgboost.callback.TrainingCallback):
    """Keeps a copy of the model of each iteration, as it is where hooks see it."""

    def __init__(self):
        self.models = []

    def after_iteration(self, model, epoch, evals_log):
        self.models.append(model.copy())
        return False


class Training:
    def __init__(self, run_dir, objective="regression", collections=(), names=FEATURES, **params):
        self.params = {"max_depth": 3, "seed": 1, "nthread": 1, **OBJECTIVES[objective], **params}
        self.train_data = make_data(objective, names=names)
        self.validation_data = make_data(objective, 40, 1, names=names)
        self.hook = Hook(
            run_dir,
            include_collections=collections,
            save_config=EVERY_STEP,
            hyperparameters=self.params,
            train_data=self.train_data,
            validation_data=self.validation_data,
        )
        self.evals_result = {}
        kept = Models()
        self.model = xgboost.train(
            self.params,
            self.train_data,
            ROUNDS,
            evals=[(self.train_data, "train"), (self.validation_data, "validation")],
            evals_result=self.evals_result,
            verbose_eval=False,
            callbacks=[kept, self.hook],
        )
        self.models = kept.models
        self.report = self.hook.close()


# ---- Section by section: what each collection holds


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_metrics_are_those_of_the_evaluation(run_dir, read_back, objective):
    training = Training(run_dir, objective)
    saved = read_back(run_dir)
    assert list(saved) == [0, 1, 2]
    for step, values in saved.items():
        expected = {
            f"{data}-{metric}": numbers[step]
            for data, metrics in training.evals_result.items()
            for metric, numbers in metrics.items()
        }
        assert {name: value.item() for name, value in values.items()} == expected
        assert all(v.dtype == np.float64 and v.shape == (1,) for v in values.values())


def test_metrics_that_grow_are_no_losses(run_dir):
    training = Training(run_dir, "binary")
    losses = training.hook.get_collection("losses").tensor_names
    assert losses == {
        *("train-logloss", "validation-logloss", "train-error@0.7", "validation-error@0.7")
    }


def test_hyperparameters_have_the_types_of_their_values(run_dir, read_back):
    values = {
        "eta": 0.3,
        "max_depth": 3,
        "silent": True,
        "objective": "reg:squarederror",
        "list": [1, 2.5],
        "names": ["a", "b"],
        "mixed": [1, "b"],
        "nothing": None,
        "other": {"a": 1},
        "numpy": np.float32(0.5),
        "huge": 2**70,
    }
    hook = Hook(run_dir, include_collections=["hyperparameters"], hyperparameters=values)
    xgboost.train({"nthread": 1}, make_data("regression"), 1, callbacks=[hook])
    hook.close()
    saved = {n.split("/", 1)[1]: v for n, v in read_back(run_dir)[0].items()}
    assert {name: (v.dtype.kind, v.tolist()) for name, v in saved.items()} == {
        "eta": ("f", [0.3]),
        "max_depth": ("i", [3]),
        "silent": ("b", [True]),
        "objective": ("U", ["reg:squarederror"]),
        "list": ("f", [1.0, 2.5]),
        "names": ("U", ["a", "b"]),
        "mixed": ("U", ["1", "b"]),
        "other": ("U", ["{'a': 1}"]),
        "numpy": ("f", [0.5]),
        "huge": ("U", [str(2**70)]),
    }


@pytest.mark.parametrize("booster", BOOSTERS)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_predictions_are_those_of_the_model_of_the_iteration(
    run_dir, read_back, objective, booster
):
    training = Training(run_dir, objective, ["predictions"], booster=booster)
    for step, values in read_back(run_dir).items():
        expected = training.models[step].predict(training.validation_data)
        np.testing.assert_array_equal(values["predictions"], expected)
        assert values["predictions"].dtype == np.float32
        assert values["predictions"].shape == ((40, 3) if objective == "softprob" else (40,))


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_labels_are_those_of_the_validation_data(run_dir, read_back, objective):
    training = Training(run_dir, objective, ["labels"])
    for values in read_back(run_dir).values():
        np.testing.assert_array_equal(values["labels"], training.validation_data.get_label())
        assert values["labels"].dtype == np.float32


@pytest.mark.parametrize("names", [FEATURES, None], ids=["named", "numbered"])
@pytest.mark.parametrize("booster", BOOSTERS)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_importance_is_the_share_of_a_feature_in_the_scores(
    run_dir, read_back, objective, booster, names
):
    training = Training(run_dir, objective, ["feature_importance"], names, booster=booster)
    for step, values in read_back(run_dir).items():
        expected = {}
        for kind in IMPORTANCES:
            scores = training.models[step].get_score(importance_type=kind)
            for feature, score in scores.items():
                expected[f"feature_importance/{kind}/{feature}"] = score / sum(scores.values())
        saved = {n: v for n, v in values.items() if n.startswith("feature_importance/")}
        assert {name: value.item() for name, value in saved.items()} == pytest.approx(expected)
        assert all(v.dtype == np.float64 and v.shape == (1,) for v in saved.values())


@pytest.mark.parametrize("booster", [*BOOSTERS, "gblinear"])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_contributions_are_those_of_the_training_data(run_dir, read_back, objective, booster):
    extra = {"num_parallel_tree": 1} if booster == "gblinear" else {}
    collections = ["average_shap", "full_shap"]
    training = Training(run_dir, objective, collections, booster=booster, **extra)
    for step, values in read_back(run_dir).items():
        matrix = training.models[step].predict(training.train_data, pred_contribs=True)
        np.testing.assert_array_equal(values["full_shap/matrix"], matrix)
        assert matrix.shape == ((80, 3, 5) if objective == "softprob" else (80, 5))
        means = matrix.reshape(-1, 5).mean(axis=0, dtype=np.float64)
        for column, feature in enumerate(FEATURES):
            value = values[f"average_shap/{feature}"]
            assert (value.dtype, value.shape) == (np.float32, (1,))
            assert value.item() == pytest.approx(means[column], abs=1e-7)
        assert "average_shap/bias" not in values


def test_the_bias_is_saved_with_everything(run_dir, read_back):
    data = make_data("regression")
    hook = Hook(run_dir, save_all=True, train_data=data)
    model = xgboost.train({"nthread": 1}, data, 1, callbacks=[hook])
    hook.close()
    matrix = model.predict(data, pred_contribs=True)
    value = read_back(run_dir)[0]["average_shap/bias"].item()
    assert value == pytest.approx(matrix[:, -1].mean(), abs=1e-6)


def test_a_feature_that_is_called_bias_wins_over_the_models_own(run_dir, read_back):
    data = make_data("regression", names=["a", "bias", "c", "d"])
    hook = Hook(run_dir, save_all=True, train_data=data)
    model = xgboost.train({"nthread": 1}, data, 1, callbacks=[hook])
    hook.close()
    matrix = model.predict(data, pred_contribs=True)
    value = read_back(run_dir)[0]["average_shap/bias"].item()
    assert value == pytest.approx(matrix[:, 1].mean(), abs=1e-6)


# ---- Trees


def nodes_of(tree):
    yield tree
    for child in tree.get("children", ()):
        yield from nodes_of(child)


def rows_by_hand(model, layer, names):
    """The nodes of a round by the dump of the whole model, as a person would read it."""
    dumps = model.get_dump(with_stats=True, dump_format="json")
    trees = len(dumps) // model.num_boosted_rounds()
    rows = []
    for number in range(layer * trees, (layer + 1) * trees):
        for node in sorted(nodes_of(json.loads(dumps[number])), key=lambda n: n["nodeid"]):
            is_leaf = "leaf" in node
            condition = node.get("split_condition")
            is_category = isinstance(condition, list)
            branches = ("yes", "no", "missing")
            rows.append(
                (
                    number,
                    node["nodeid"],
                    f"{number}-{node['nodeid']}",
                    "Leaf" if is_leaf else names[int(node["split"][1:])],
                    float("nan") if is_leaf or is_category else float(condition),
                    *("nan" if is_leaf else f"{number}-{node[k]}" for k in branches),
                    float(node["leaf"] if is_leaf else node["gain"]),
                    float(node["cover"]),
                    ",".join(map(str, condition)) if is_category else "nan",
                )
            )
    return rows


COLUMNS = {
    "Tree": "i",
    "Node": "i",
    "ID": "U",
    "Feature": "U",
    "Split": "f",
    "Yes": "U",
    "No": "U",
    "Missing": "U",
    "Gain": "f",
    "Cover": "f",
    "Category": "U",
}


def assert_trees(values, expected):
    saved = {name.split("/")[1]: v for name, v in values.items() if name.startswith("trees/")}
    assert {name: value.dtype.kind for name, value in saved.items()} == COLUMNS
    for column, name in enumerate(COLUMNS):
        wanted = [row[column] for row in expected]
        if COLUMNS[name] == "f":
            np.testing.assert_allclose(saved[name], wanted, rtol=1e-12)
        else:
            assert saved[name].tolist() == wanted


@pytest.mark.parametrize("booster", BOOSTERS)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_trees_are_those_that_the_iteration_has_added(run_dir, read_back, objective, booster):
    training = Training(run_dir, objective, ["trees"], None, booster=booster)
    for step, values in read_back(run_dir).items():
        names = [f"f{i}" for i in range(4)]
        assert_trees(values, rows_by_hand(training.models[step], step, names))


def test_trees_of_classes_are_all_there(run_dir, read_back):
    params = {"num_parallel_tree": 1}
    Training(run_dir, "softprob", ["trees"], **params)
    trees = {step: set(v["trees/Tree"].tolist()) for step, v in read_back(run_dir).items()}
    assert trees == {0: {0, 1, 2}, 1: {3, 4, 5}, 2: {6, 7, 8}}


def test_trees_have_the_names_of_features_as_they_are(run_dir, read_back):
    Training(run_dir, "regression", ["trees"])
    features = set(read_back(run_dir)[0]["trees/Feature"].tolist())
    assert features <= {*FEATURES, "Leaf"}
    assert features - {"Leaf"}


def test_categories_of_a_split_are_joined(run_dir, read_back):
    random = np.random.default_rng(0)
    features = np.stack([random.integers(0, 6, 200), random.normal(size=200)], axis=1)
    labels = np.isin(features[:, 0], [1, 4]).astype(float)
    names, types = ["kind", "x"], ["c", "q"]
    data = xgboost.DMatrix(
        features, labels, feature_names=names, feature_types=types, enable_categorical=True
    )
    hook = Hook(run_dir, include_collections=["trees"])
    params = {"tree_method": "hist", "max_depth": 2, "nthread": 1, "max_cat_to_onehot": 1}
    model = xgboost.train(params, data, 1, callbacks=[hook])
    hook.close()
    plain = model[0:1]
    plain.feature_names = ["f0", "f1"]
    plain.feature_types = ["c", "q"]
    values = read_back(run_dir)[0]
    assert_trees(values, rows_by_hand(plain, 0, ["kind", "x"]))
    root = values["trees/Category"][0]
    assert set(root.split(",")) in ({"1", "4"}, {"0", "2", "3", "5"})
    assert np.isnan(values["trees/Split"][0])


def test_an_indicator_has_threshold_and_missing_branch_as_a_number(run_dir, read_back):
    random = np.random.default_rng(0)
    features = random.integers(0, 2, (100, 2)).astype(float)
    data = xgboost.DMatrix(features, features[:, 0], feature_types=["i", "i"])
    hook = Hook(run_dir, include_collections=["trees"])
    xgboost.train({"nthread": 1, "max_depth": 1}, data, 1, callbacks=[hook])
    hook.close()
    values = read_back(run_dir)[0]
    assert values["trees/Feature"][0] == "f0"
    assert 0 < values["trees/Split"][0] <= 1
    assert values["trees/Missing"][0] in ("0-1", "0-2")


def test_trees_of_a_continued_training_are_its_own(run_dir, read_back):
    data = make_data("regression")
    params = {"nthread": 1, "max_depth": 2}
    first = xgboost.train(params, data, 4)
    hook = Hook(run_dir, include_collections=["trees"], save_config=EVERY_STEP)
    xgboost.train(params, data, 2, xgb_model=first, callbacks=[hook])
    hook.close()
    trees = {step: set(v["trees/Tree"].tolist()) for step, v in read_back(run_dir).items()}
    assert trees == {0: {4}, 1: {5}}


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_model_is_parsed_into_arrays(tmp_path, objective):
    training = Training(str(tmp_path / "run"), objective, names=None)
    for iteration in range(ROUNDS):
        columns = parse_tree_model(training.model, iteration)
        assert_trees(
            {f"trees/{name}": column for name, column in columns.items()},
            rows_by_hand(training.model, iteration, [f"f{i}" for i in range(4)]),
        )


@pytest.mark.parametrize("iteration", [-1, ROUNDS])
def test_a_round_that_the_model_does_not_have_is_refused(tmp_path, iteration):
    training = Training(str(tmp_path / "run"))
    with pytest.raises(SMDebugValueError, match="3 rounds"):
        parse_tree_model(training.model, iteration)


# ---- Nothing is computed that is not due


@pytest.fixture
def counts(monkeypatch):
    """How often the model was asked, by method; the calls of xgboost itself included."""
    asked = dict.fromkeys(("predict", "get_score", "get_dump", "__getitem__", "save_config"), 0)
    for name in asked:
        original = getattr(xgboost.Booster, name)

        def counted(self, *args, _name=name, _original=original, **kwargs):
            asked[_name] += 1
            return _original(self, *args, **kwargs)

        monkeypatch.setattr(xgboost.Booster, name, counted)
    return asked


def test_metrics_alone_ask_nothing_of_the_model(run_dir, counts):
    data = make_data("regression")
    arguments = {"evals": [(data, "train")], "verbose_eval": False}
    xgboost.train({"nthread": 1}, data, 5, **arguments)
    by_xgboost = dict(counts)
    hook = Hook(run_dir, save_config=EVERY_STEP, train_data=data, validation_data=data)
    xgboost.train({"nthread": 1}, data, 5, callbacks=[hook], **arguments)
    hook.close()
    assert {name: 2 * count for name, count in by_xgboost.items()} == counts


def test_the_model_is_asked_at_due_steps_only(run_dir, counts):
    data = make_data("regression")
    hook = Hook(
        run_dir,
        include_collections=[
            *("predictions", "average_shap", "full_shap", "trees", "feature_importance")
        ],
        save_config=SaveConfig(save_interval=2),
        train_data=data,
        validation_data=data,
    )
    hook.get_collection("feature_importance").include_regex = ["^feature_importance/gain/"]
    xgboost.train({"nthread": 1}, data, 5, callbacks=[hook])
    hook.close()
    assert counts["predict"] == 3 * 2
    assert counts["get_score"] == 3
    assert counts["get_dump"] == 3


# ---- Steps, and the ways of training


def test_every_tenth_iteration_is_saved_by_default(run_dir, read_back):
    data = make_data("regression")
    hook = Hook(run_dir)
    evals = [(data, "train")]
    xgboost.train({"nthread": 1}, data, 25, evals=evals, callbacks=[hook], verbose_eval=False)
    hook.close()
    assert list(read_back(run_dir)) == [0, 10, 20]


def test_an_iteration_is_committed_when_the_callback_returns(run_dir, read_back):
    data = make_data("regression")
    seen = []

    # XGBoost 1.7 calls several callbacks in any order.
    class ReadingHook(Hook):
        def after_iteration(self, model, epoch, evals_log):
            ends = super().after_iteration(model, epoch, evals_log)
            seen.append(list(read_back(run_dir)))
            return ends

    hook = ReadingHook(run_dir, save_config=EVERY_STEP)
    evals = [(data, "train")]
    xgboost.train({"nthread": 1}, data, 3, evals=evals, callbacks=[hook], verbose_eval=False)
    assert seen == [[0], [0, 1], [0, 1, 2]]
    assert hook.step == 2


def test_the_steps_of_a_second_training_follow_the_last_step(run_dir, read_back):
    data = make_data("regression")
    hook = Hook(run_dir, save_config=EVERY_STEP)
    for _ in range(2):
        evals = [(data, "train")]
        xgboost.train({"nthread": 1}, data, 2, evals=evals, callbacks=[hook], verbose_eval=False)
    report = hook.close()
    assert list(read_back(run_dir)) == [0, 1, 2, 3]
    assert len([p for p in report.problems if "second training" in p]) == 1


def test_the_steps_of_a_continued_run_follow_its_last_step(run_dir, read_back):
    data = make_data("regression")
    for existing in ("refuse", "continue"):
        hook = Hook(run_dir, save_config=EVERY_STEP, existing=existing)
        evals = [(data, "train")]
        xgboost.train({"nthread": 1}, data, 2, evals=evals, callbacks=[hook], verbose_eval=False)
        hook.close()
    assert list(read_back(run_dir)) == [0, 1, 2, 3]


def test_a_second_training_tries_what_the_first_one_left_out(run_dir, read_back):
    data = make_data("regression")
    hook = Hook(run_dir, include_collections=["labels", "trees"], save_config=EVERY_STEP)
    xgboost.train({"nthread": 1, "booster": "gblinear"}, data, 1, callbacks=[hook])
    hook.validation_data = data
    xgboost.train({"nthread": 1}, data, 1, callbacks=[hook])
    left_out = [p for p in hook.close().problems if "left out" in p]
    assert [p.split()[2] for p in left_out] == ["metrics", "labels", "trees"]
    saved = read_back(run_dir)[1]
    np.testing.assert_array_equal(saved["labels"], data.get_label())
    assert "trees/Tree" in saved


def test_contributions_of_a_second_training_are_of_its_own_data(run_dir, read_back):
    hook = Hook(run_dir, include_collections=["average_shap", "full_shap"], save_config=EVERY_STEP)
    expected = {}
    for step, names in enumerate((FEATURES, ["a", "b", "c", "d"])):
        hook.train_data = data = make_data("regression", rows=40 + step, seed=step, names=names)
        model = xgboost.train({"nthread": 1}, data, 1, callbacks=[hook])
        expected[step] = (names, model.predict(data, pred_contribs=True))
    hook.close()
    saved = read_back(run_dir)
    for step, (names, contributions) in expected.items():
        np.testing.assert_array_equal(saved[step]["full_shap/matrix"], contributions)
        means = {n for n in saved[step] if n.startswith("average_shap/")}
        assert means == {f"average_shap/{name}" for name in names}


def test_cv_leaves_out_contributions_with_one_problem(run_dir):
    data = make_data("regression")
    hook = Hook(
        run_dir, include_collections=["full_shap"], save_config=EVERY_STEP, train_data=data
    )
    xgboost.cv({"nthread": 1}, data, 3, nfold=2, callbacks=[hook])
    (problem,) = [p for p in hook.close().problems if "left out" in p]
    assert problem == (
        "the collections of the model are left out from step 0 on: cv trains several models"
    )


def test_what_each_training_leaves_out_is_reported_once(run_dir):
    data = make_data("regression")
    hook = Hook(run_dir, include_collections=["labels"], save_config=EVERY_STEP)
    for _ in range(3):
        evals = [(data, "train")]
        xgboost.train({"nthread": 1}, data, 1, evals=evals, callbacks=[hook], verbose_eval=False)
    (problem,) = [p for p in hook.close().problems if "left out" in p]
    assert problem == (
        "the collection labels is left out from step 0 on: the hook has no validation_data"
    )


def test_a_requested_stop_ends_the_training(run_dir):
    data = make_data("regression")
    hook = Hook(run_dir, save_config=EVERY_STEP)

    class Asker(xgboost.callback.TrainingCallback):
        def after_iteration(self, model, epoch, evals_log):
            if epoch == 2:
                (Path(run_dir) / "stop_training").write_text("")  # what an action writes
            return False

    # A request is looked for every 100 ms.
    params = {"nthread": 1, "max_depth": 1}
    model = xgboost.train(params, data, 20_000, callbacks=[Asker(), hook])
    assert 3 <= model.num_boosted_rounds() < 20_000
    assert hook.close().steps_begun == model.num_boosted_rounds()


def test_a_training_that_stops_early_is_saved_to_its_end(run_dir, read_back):
    train, validation = make_data("binary"), make_data("binary", seed=5)
    hook = Hook(run_dir, save_config=EVERY_STEP)
    result = {}
    xgboost.train(
        {"nthread": 1, "objective": "binary:logistic", "eta": 1.0},
        train,
        200,
        evals=[(validation, "validation")],
        evals_result=result,
        early_stopping_rounds=3,
        verbose_eval=False,
        callbacks=[hook],
    )
    hook.close()
    losses = result["validation"]["logloss"]
    assert len(losses) < 200
    saved = [values["validation-logloss"].item() for values in read_back(run_dir).values()]
    # XGBoost 1.7 calls callbacks in any order, and none after the one that ends the training.
    ends = [losses, losses[:-1]] if xgboost.__version__.startswith("1.") else [losses]
    assert saved in ends


def test_cv_saves_mean_and_deviation_of_metrics(run_dir, read_back):
    data = make_data("binary")
    hook = Hook(
        run_dir,
        include_collections=["trees", "predictions", "hyperparameters"],
        save_config=EVERY_STEP,
        hyperparameters={"eta": 0.1},
    )
    params = {"nthread": 1, "objective": "binary:logistic", "eta": 0.1}
    result = xgboost.cv(params, data, 3, nfold=3, as_pandas=False, seed=1, callbacks=[hook])
    report = hook.close()
    saved = read_back(run_dir)
    assert list(saved) == [0, 1, 2]
    for step, values in saved.items():
        assert set(values) == {"train-logloss", "test-logloss", "hyperparameters/eta"}
        expected = [result["test-logloss-mean"][step], result["test-logloss-std"][step]]
        np.testing.assert_allclose(values["test-logloss"], expected)
        assert values["test-logloss"].shape == (2,)
    assert len([p for p in report.problems if "cv" in p]) == 1


@pytest.mark.requires("sklearn")
def test_the_classes_for_scikit_learn_take_the_hook(run_dir, read_back):
    random = np.random.default_rng(0)
    features = random.normal(size=(60, 3))
    labels = (features[:, 0] > 0).astype(int)
    hook = Hook(run_dir, include_collections=["feature_importance"], save_config=EVERY_STEP)
    model = xgboost.XGBClassifier(n_estimators=3, n_jobs=1, callbacks=[hook])
    model.fit(features, labels, eval_set=[(features, labels)], verbose=False)
    hook.close()
    expected = model.evals_result()["validation_0"]["logloss"]
    saved = read_back(run_dir)
    assert [v["validation_0-logloss"].item() for v in saved.values()] == expected
    assert any(name.startswith("feature_importance/gain/") for name in saved[2])


def test_watching_does_not_change_the_model(run_dir):
    data = make_data("softprob")
    params = {"nthread": 1, "subsample": 0.7, "seed": 4, **OBJECTIVES["softprob"]}
    plain = xgboost.train(params, data, 5)
    hook = Hook(
        run_dir, save_all=True, save_config=EVERY_STEP, train_data=data, validation_data=data
    )
    watched = xgboost.train(params, data, 5, callbacks=[hook])
    hook.close()
    assert watched.get_dump(with_stats=True) == plain.get_dump(with_stats=True)


# ---- Data


def write_data(tmp_path, kind):
    random = np.random.default_rng(0)
    rows = random.integers(1, 9, size=(20, 3))
    file = tmp_path / f"data.{kind}"
    lines = {
        "csv": lambda row: f"{row[0] % 2},{','.join(map(str, row))}",
        "libsvm": lambda row: f"{row[0] % 2} "
        + " ".join(f"{i}:{value}" for i, value in enumerate(row)),
    }[kind]
    file.write_text("".join(lines(row) + "\n" for row in rows))
    return str(file), rows


@pytest.mark.parametrize("kind", ["csv", "libsvm"])
@pytest.mark.filterwarnings("ignore")
def test_data_may_be_a_file(tmp_path, run_dir, read_back, kind):
    path, rows = write_data(tmp_path, kind)
    data = xgboost.DMatrix(rows, label=rows[:, 0] % 2)
    hook = Hook(
        run_dir,
        include_collections=["labels", "predictions", "full_shap"],
        train_data=(path, kind),
        validation_data=(path, kind),
    )
    model = xgboost.train({"nthread": 1}, data, 1, callbacks=[hook])
    assert not [p for p in hook.close().problems if "metrics" not in p]
    values = read_back(run_dir)[0]
    np.testing.assert_array_equal(values["labels"], rows[:, 0] % 2)
    np.testing.assert_array_equal(values["predictions"], model.predict(data))
    np.testing.assert_array_equal(
        values["full_shap/matrix"], model.predict(data, pred_contribs=True)
    )


def test_data_may_be_set_later(run_dir, read_back):
    data = make_data("regression")
    hook = Hook(run_dir, include_collections=["labels", "hyperparameters"])
    hook.validation_data = data
    hook.hyperparameters = {"eta": 0.3}
    xgboost.train({"nthread": 1}, data, 1, callbacks=[hook])
    hook.close()
    assert set(read_back(run_dir)[0]) == {"labels", "hyperparameters/eta"}


# ---- What cannot be saved


def problems_of(run_dir, collections, params=None, rounds=3, **options):
    data = make_data("regression")
    hook = Hook(run_dir, include_collections=collections, save_config=EVERY_STEP, **options)
    model = xgboost.train(
        {"nthread": 1, **(params or {})},
        data,
        rounds,
        evals=[(data, "train")],
        verbose_eval=False,
        callbacks=[hook],
    )
    assert model.num_boosted_rounds() == rounds
    return [p for p in hook.close().problems if "left out" in p]


@pytest.mark.parametrize(
    ("collection", "missing"),
    [
        ("predictions", "validation_data"),
        ("labels", "validation_data"),
        ("average_shap", "train_data"),
        ("full_shap", "train_data"),
        ("hyperparameters", "hyperparameters"),
    ],
)
def test_a_collection_whose_data_are_missing_is_left_out_once(run_dir, collection, missing):
    (problem,) = problems_of(run_dir, [collection])
    assert f"the collection {collection} is left out from step 0 on" in problem
    assert f"no {missing}" in problem


def test_hyperparameters_that_become_no_mapping_leave_out_nothing_else(run_dir, read_back):
    data = make_data("regression")
    collections = ["hyperparameters", "labels", "predictions", "trees"]
    hook = Hook(
        run_dir,
        include_collections=collections,
        save_config=EVERY_STEP,
        validation_data=data,
    )
    hook.hyperparameters = [1]
    xgboost.train({"nthread": 1}, data, 3, callbacks=[hook])
    (problem,) = [p for p in hook.close().problems if "hyperparameters" in p]
    assert "left out from step 0 on: hyperparameters are a mapping, not list" in problem
    for values in read_back(run_dir).values():
        assert {"labels", "predictions", "trees/Tree"} <= set(values)


@pytest.mark.parametrize("part", ["metrics", "labels", "predictions", "importance", "trees"])
def test_a_part_that_fails_is_left_out_once_and_alone(run_dir, read_back, monkeypatch, part):
    def fail(*_):
        raise RuntimeError("out of luck")

    monkeypatch.setattr(Hook, f"_save_{part}", fail)
    collections = ["labels", "predictions", "feature_importance", "trees", "full_shap"]
    training = Training(run_dir, collections=collections)
    (problem,) = training.report.problems
    assert part in problem and "out of luck" in problem
    parts = {"labels", "predictions", "feature_importance", "trees", "full_shap"}
    for values in read_back(run_dir).values():
        saved = {name.split("/")[0] for name in values} & parts
        assert saved == parts - {part, f"feature_{part}"}


def test_a_failure_is_raised_on_demand(run_dir):
    data = make_data("regression")
    hook = Hook(run_dir, include_collections=["hyperparameters"], on_error="throw")
    hook.hyperparameters = [1]
    with pytest.raises(SMDebugTypeError, match="a mapping, not list"):
        xgboost.train({"nthread": 1}, data, 1, callbacks=[hook])


def test_feature_names_of_4096_bytes_are_kept(run_dir, read_back):
    prefix = "feature_importance/total_cover/"
    names = [each * (4096 - len(prefix)) for each in "ab"] + ["c", "d"]
    Training(run_dir, collections=["feature_importance", "trees"], names=names)
    saved = read_back(run_dir)[0]
    assert set(saved["trees/Feature"]) & set(names[:2])
    assert prefix + names[0] in saved


@pytest.mark.parametrize("collection", ["feature_importance", "trees"])
def test_gblinear_has_no_trees(run_dir, collection):
    (problem,) = problems_of(run_dir, [collection], {"booster": "gblinear"})
    assert "gblinear" in problem and collection in problem


def test_a_training_without_evals_has_no_metrics(run_dir):
    data = make_data("regression")
    hook = Hook(run_dir, save_config=EVERY_STEP)
    xgboost.train({"nthread": 1}, data, 3, callbacks=[hook])
    (problem,) = [p for p in hook.close().problems if "left out" in p]
    assert "metrics" in problem and "no evals" in problem


def test_data_without_labels_have_none(run_dir):
    data = xgboost.DMatrix(np.ones((3, 4)), feature_names=FEATURES)
    (problem,) = problems_of(run_dir, ["labels"], validation_data=data)
    assert "no labels" in problem


@pytest.mark.parametrize(
    "data", [("/nowhere/data.csv", "csv"), ("data", "parquet"), 3, (3, "csv")], ids=repr
)
def test_data_that_cannot_be_read_are_left_out(run_dir, data):
    (problem,) = problems_of(run_dir, ["predictions"], validation_data=data)
    assert "\n" not in problem and ".cc:" not in problem


def test_data_of_other_features_are_left_out(run_dir):
    data = xgboost.DMatrix(np.ones((3, 2)))
    (problem,) = problems_of(run_dir, ["average_shap"], train_data=data)
    assert "average_shap" in problem


@pytest.mark.requires("xgboost>=2.0")
@pytest.mark.parametrize("collection", ["average_shap", "trees"])
def test_a_tree_of_several_targets_is_left_out_or_exact(run_dir, collection):
    random = np.random.default_rng(0)
    data = xgboost.DMatrix(random.normal(size=(50, 3)), label=random.normal(size=(50, 2)))
    hook = Hook(run_dir, include_collections=[collection], train_data=data)
    params = {"nthread": 1, "tree_method": "hist", "multi_strategy": "multi_output_tree"}
    xgboost.train(params, data, 12, callbacks=[hook])
    assert len([p for p in hook.close().problems if collection in p]) == 1


def test_labels_and_predictions_of_several_targets_have_two_dimensions(run_dir, read_back):
    random = np.random.default_rng(0)
    labels = random.normal(size=(50, 2)).astype(np.float32)
    data = xgboost.DMatrix(random.normal(size=(50, 3)), label=labels)
    hook = Hook(run_dir, include_collections=["labels", "predictions"], validation_data=data)
    model = xgboost.train({"nthread": 1, "tree_method": "hist"}, data, 1, callbacks=[hook])
    hook.close()
    values = read_back(run_dir)[0]
    np.testing.assert_array_equal(values["labels"], labels)
    np.testing.assert_array_equal(values["predictions"], model.predict(data))


def test_reductions_of_the_hook_are_ignored_with_a_warning(run_dir, read_back, caplog):
    data = make_data("regression")
    hook = Hook(
        run_dir,
        include_collections=["predictions"],
        reduction_config=cupel._native.ReductionConfig(reductions=["min"]),
        validation_data=data,
    )
    xgboost.train({"nthread": 1}, data, 1, callbacks=[hook])
    hook.close()
    warnings = [r.message for r in caplog.records if "reduction_config of the hook" in r.message]
    assert warnings == [
        "reduction_config of the hook is ignored in the profile XGBoost; collections may have one"
    ]
    assert read_back(run_dir)[0]["predictions"].shape == (80,)


def test_metrics_that_are_not_finite_are_saved_as_they_are(run_dir, read_back):
    data = make_data("regression")
    hook = Hook(run_dir, save_config=EVERY_STEP)
    values = iter([np.nan, np.inf, -np.inf])

    def metric(predicted, matrix):
        return "odd", next(values)

    xgboost.train(
        {"nthread": 1, "disable_default_eval_metric": 1},
        data,
        3,
        evals=[(data, "train")],
        custom_metric=metric,
        verbose_eval=False,
        callbacks=[hook],
    )
    hook.close()
    saved = [v["train-odd"].item() for v in read_back(run_dir).values()]
    np.testing.assert_array_equal(saved, [np.nan, np.inf, -np.inf])


# ---- The hook itself


def test_a_hook_without_out_dir_is_refused():
    with pytest.raises(SMDebugRuntimeError):
        Hook()


@pytest.mark.parametrize(
    "name",
    [
        *("Hook", "SaveConfig", "SaveConfigMode", "modes", "Collection", "CollectionKeys"),
        *("create_trial", "get_hook", "set_hook", "del_hook"),
    ],
)
def test_the_module_has_the_names_of_the_sdk(name):
    assert hasattr(cupel.xgboost, name)
    assert name in cupel.xgboost.__all__


def test_modes_are_members_of_modes():
    assert cupel.xgboost.modes.TRAIN.value == 1


def test_hyperparameters_that_are_no_mapping_are_refused(run_dir):
    with pytest.raises(SMDebugTypeError, match="list"):
        Hook(run_dir, hyperparameters=[1])


def test_a_hook_pickles_to_one_that_does_nothing(run_dir):
    hook = Hook(run_dir)
    dead = pickle.loads(pickle.dumps(hook))
    data = make_data("regression")
    xgboost.train({"nthread": 1}, data, 2, callbacks=[dead])
    assert (dead.step, dead.train_data, hook.step) == (-1, None, -1)


def test_a_closed_hook_holds_neither_model_nor_data(tmp_path, run_dir):
    file = tmp_path / "rows.csv"
    file.write_text("1,2,3\n2,3,4\n")
    hook = Hook(run_dir, include_collections=["labels", "predictions", "average_shap"])
    hook.train_data, hook.validation_data = make_data("regression"), (str(file), "csv")

    class Closer(xgboost.callback.TrainingCallback):
        def after_iteration(self, model, epoch, evals_log):
            hook.after_iteration(model, epoch, evals_log)
            assert any(isinstance(each, xgboost.Booster) for each in vars(hook).values())
            hook.close()
            kinds = (xgboost.Booster, xgboost.DMatrix)
            assert not any(isinstance(each, kinds) for each in vars(hook).values())
            assert hook._loaded == {}
            return False

    xgboost.train({"nthread": 1}, make_data("regression"), 1, callbacks=[Closer()])


def test_training_goes_on_with_a_closed_hook(run_dir):
    hook = Hook(run_dir)
    hook.close()
    data = make_data("regression")
    model = xgboost.train({"nthread": 1}, data, 2, callbacks=[hook])
    assert model.num_boosted_rounds() == 2


def test_the_worker_is_the_rank_of_the_collective(run_dir, monkeypatch):
    from xgboost import collective

    hook = Hook(run_dir, include_workers="all")
    answers = {"is_distributed": True, "get_rank": 1, "get_world_size": 2}
    for name, answer in answers.items():
        monkeypatch.setattr(collective, name, lambda answer=answer: answer)
    assert (hook.worker, hook._get_num_workers()) == ("worker_1", 2)
    hook.next_step()
    monkeypatch.undo()
    assert (hook.worker, hook._get_num_workers()) == ("worker_1", 2)


def test_the_worker_of_a_training_alone_is_that_of_the_launcher(run_dir, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "3")
    assert Hook(run_dir).worker == "worker_1"


def test_the_hook_of_the_process_is_created_of_the_configuration(tmp_path, run_dir, monkeypatch):
    cupel.xgboost.del_hook()
    file = tmp_path / "hook.json"
    file.write_text(json.dumps({"LocalPath": run_dir}))
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(file))
    hook = cupel.xgboost.get_hook()
    assert hook.out_dir == run_dir
    assert cupel.xgboost.get_hook() is hook
    cupel.xgboost.del_hook()


def test_the_hook_of_the_process_is_created_without_a_configuration(tmp_path):
    cupel.xgboost.del_hook()
    hook = cupel.xgboost.get_hook(str(tmp_path / "nothing.json"))
    assert isinstance(hook, Hook)
    cupel.xgboost.del_hook()


def test_the_newest_hook_is_that_of_the_process(run_dir):
    hook = Hook(run_dir)
    assert cupel.xgboost.get_hook() is hook


# ---- Without touching the script


def run_module(*arguments, env):
    return subprocess.run(
        [sys.executable, "-m", "cupel.xgboost", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=env,
        timeout=120,
    )


@pytest.fixture
def environment(tmp_path, run_dir, monkeypatch):
    import os

    file = tmp_path / "hook.json"
    file.write_text(
        json.dumps(
            {
                "LocalPath": run_dir,
                "HookParameters": {"save_interval": "1"},
                "CollectionConfigurations": [
                    {"CollectionName": name}
                    for name in ("hyperparameters", "average_shap", "predictions")
                ],
            }
        )
    )
    return {**os.environ, "SMDEBUG_CONFIG_FILE_PATH": str(file)}


SCRIPT = """
    import sys
    import numpy, xgboost
    from xgboost import train
    assert __name__ == "__main__" and sys.argv[1:] == ["--rounds", "2"], sys.argv
    data = xgboost.DMatrix(numpy.eye(8), label=numpy.arange(8))
    evals = [(data, "train")]
    train({"eta": 0.5, "nthread": 1}, data, int(sys.argv[2]), evals=evals, verbose_eval=False)
    print("trained")
"""


def test_a_script_that_knows_nothing_of_cupel_is_watched(
    tmp_path, run_dir, read_back, environment
):
    script = tmp_path / "train.py"
    script.write_text(textwrap.dedent(SCRIPT))
    done = run_module(str(script), "--rounds", "2", env=environment)
    assert (done.returncode, done.stdout) == (0, "trained\n"), done.stderr
    saved = read_back(run_dir)
    assert list(saved) == [0, 1]
    assert {"train-rmse", "hyperparameters/eta", "average_shap/f0", "predictions"} <= set(saved[0])


def test_each_training_of_a_script_has_its_own_data(tmp_path, run_dir, read_back, environment):
    script = tmp_path / "train.py"
    script.write_text(
        textwrap.dedent(
            """
            import numpy, xgboost
            def train(rows, **arguments):
                data = xgboost.DMatrix(numpy.eye(rows), label=numpy.arange(rows))
                evals = [(data, "train")] if arguments.pop("has_evals") else []
                params = {"eta": 0.5, "nthread": 1}
                xgboost.train(params, data, 1, evals=evals, verbose_eval=False)
            train(8, has_evals=False)
            train(5, has_evals=True)
            """
        )
    )
    done = run_module(str(script), env=environment)
    assert done.returncode == 0, done.stderr
    saved = read_back(run_dir)
    assert sorted(saved) == [0, 1]
    assert {"average_shap/f7"} <= set(saved[0]) and "predictions" not in saved[0]
    assert saved[1]["predictions"].shape == (5,)
    assert "average_shap/f4" in saved[1] and "average_shap/f7" not in saved[1]


def test_a_script_finds_modules_beside_it(tmp_path, environment):
    folder = tmp_path / "scripts"
    folder.mkdir()
    (folder / "beside.py").write_text("print('found')")
    (folder / "train.py").write_text("import beside")
    assert run_module(str(folder / "train.py"), env=environment).stdout == "found\n"


def test_a_safe_path_stays_as_it_is(tmp_path, environment):
    script = tmp_path / "train.py"
    script.write_text("import sys; print(sys.path)")
    environment["PYTHONSAFEPATH"] = "1"
    plain = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=environment, check=True
    )
    assert run_module(str(script), env=environment).stdout == plain.stdout


def test_what_a_script_raises_leaves_the_program(tmp_path, environment):
    script = tmp_path / "train.py"
    script.write_text("import sys; sys.exit(7)")
    assert run_module(str(script), env=environment).returncode == 7


def test_help_is_printed(environment):
    done = run_module("--help", env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: python -m cupel.xgboost SCRIPT")


def test_a_script_without_a_configuration_is_not_run(tmp_path, environment):
    script = tmp_path / "train.py"
    script.write_text("print('ran')")
    environment["SMDEBUG_CONFIG_FILE_PATH"] = str(tmp_path / "nothing.json")
    done = run_module(str(script), env=environment)
    assert (done.returncode, done.stdout) == (2, "")
    assert "nothing.json" in done.stderr


@pytest.mark.parametrize("arguments", [[], ["nowhere.py"], ["--unknown"]], ids=repr)
def test_a_call_without_a_script_is_refused(arguments, environment):
    done = run_module(*arguments, env=environment)
    assert done.returncode == 2
    assert done.stderr
    assert "Traceback" not in done.stderr

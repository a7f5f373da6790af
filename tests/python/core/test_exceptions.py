"""The exceptions: bases, attributes, constructors, pickling."""

import copy
import pickle

import pytest

from cupel import exceptions
from cupel.core.modes import ModeKeys

MADE = [
    exceptions.SMDebugError("a"),
    exceptions.SMDebugError(),
    exceptions.SMDebugValueError("a", 2),
    exceptions.SMDebugTypeError("a"),
    exceptions.SMDebugRuntimeError("a"),
    exceptions.SMDebugNotImplementedError("a"),
    exceptions.StoreError("a", "key", "s3://bucket", True),
    exceptions.StepNotYetAvailable(3, ModeKeys.EVAL),
    exceptions.StepUnavailable(3, ModeKeys.TRAIN),
    exceptions.NoMoreData(3, ModeKeys.TRAIN, 2),
    exceptions.TensorUnavailable("w"),
    exceptions.TensorUnavailableForStep("w", 3, ModeKeys.TRAIN, True),
    exceptions.ShapeUnavailableForStep("w", 3, ModeKeys.TRAIN),
    exceptions.InvalidCollectionConfiguration("c"),
    exceptions.InvalidWorker("worker_3"),
    exceptions.MissingCollectionFiles(),
    exceptions.IndexReaderException("a"),
    exceptions.FormatError("a", "index/0", 17),
    exceptions.DamagedValue("a", "events/0", 17),
    exceptions.RuleEvaluationConditionMet("Rule", 3, True),
    exceptions.InsufficientInformationForRuleInvocation("Rule", "no regex"),
]


def name_of(error):
    return f"{type(error).__name__}-{len(error.args)}"


@pytest.mark.parametrize("error", MADE, ids=name_of)
def test_an_exception_survives_pickling(error):
    for again in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert again.args == error.args
        assert vars(again) == vars(error)


def test_every_exception_is_tried():
    classes = {getattr(exceptions, name) for name in exceptions.__all__}
    assert classes == {type(error) for error in MADE}


@pytest.mark.parametrize("error", MADE, ids=name_of)
def test_every_exception_has_the_root(error):
    assert isinstance(error, exceptions.SMDebugError)
    assert exceptions.Error is exceptions.SMDebugError


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (exceptions.SMDebugValueError, ValueError),
        (exceptions.SMDebugTypeError, TypeError),
        (exceptions.SMDebugRuntimeError, RuntimeError),
        (exceptions.SMDebugNotImplementedError, NotImplementedError),
        (exceptions.StoreError, exceptions.SMDebugRuntimeError),
        (exceptions.ShapeUnavailableForStep, exceptions.TensorUnavailableForStep),
        (exceptions.FormatError, exceptions.IndexReaderException),
    ],
)
def test_an_exception_is_also_a(kind, builtin):
    assert issubclass(kind, builtin)


@pytest.mark.parametrize(
    ("error", "attributes"),
    [
        (exceptions.StepNotYetAvailable(3, ModeKeys.EVAL), {"step": 3, "mode": ModeKeys.EVAL}),
        (exceptions.StepUnavailable(step=3, mode=None), {"step": 3, "mode": ModeKeys.GLOBAL}),
        (
            exceptions.NoMoreData(3, ModeKeys.TRAIN, 2),
            {"step": 3, "mode": ModeKeys.TRAIN, "last_step": 2},
        ),
        (exceptions.TensorUnavailable("w"), {"tname": "w"}),
        (
            exceptions.TensorUnavailableForStep("w", 3),
            {"tname": "w", "step": 3, "mode": ModeKeys.GLOBAL, "has_reductions": False},
        ),
        (exceptions.InvalidCollectionConfiguration("c"), {"c_name": "c"}),
        (exceptions.InvalidWorker("worker_3"), {"worker": "worker_3"}),
        (exceptions.IndexReaderException("torn"), {"message": "torn"}),
        (
            exceptions.FormatError("torn", "index/0", 17),
            {"message": "torn", "file": "index/0", "offset": 17},
        ),
        (
            exceptions.StoreError("a", "k", "s3://b", True),
            {"key": "k", "location": "s3://b", "retryable": True},
        ),
        (
            exceptions.RuleEvaluationConditionMet("R", 3),
            {"rule_name": "R", "step": 3, "end_of_rule": False},
        ),
        (
            exceptions.InsufficientInformationForRuleInvocation("R", "no regex"),
            {"rule_name": "R", "message": "no regex"},
        ),
    ],
)
def test_an_exception_has_the_attributes_of_its_kind(error, attributes):
    assert vars(error) == attributes


def test_a_message_names_the_step_and_the_mode():
    assert "3" in str(exceptions.StepUnavailable(3, ModeKeys.EVAL))
    assert "EVAL" in str(exceptions.StepUnavailable(3, ModeKeys.EVAL))

"""Groups of tensors that are saved alike, and the names of the built-in ones."""

from .._native import Collection

__all__ = ["Collection", "CollectionKeys"]


class CollectionKeys:
    """The names of the built-in collections of all frameworks."""

    ALL = "all"
    DEFAULT = "default"
    WEIGHTS = "weights"
    BIASES = "biases"
    GRADIENTS = "gradients"
    LOSSES = "losses"
    METRICS = "metrics"
    SM_METRICS = "sm_metrics"
    INPUTS = "inputs"
    OUTPUTS = "outputs"
    LAYERS = "layers"
    OPTIMIZER_VARIABLES = "optimizer_variables"
    # XGBoost
    HYPERPARAMETERS = "hyperparameters"
    PREDICTIONS = "predictions"
    LABELS = "labels"
    FEATURE_IMPORTANCE = "feature_importance"
    AVERAGE_SHAP = "average_shap"
    FULL_SHAP = "full_shap"
    TREES = "trees"
    # By the class of a module; they save nothing by themselves
    NORMS = "norms"
    EMBEDDINGS = "embeddings"
    FROZEN = "frozen"
    ACTIVATIONS = "activations"
    ATTENTION = "attention"
    OPTIMIZER = "optimizer"

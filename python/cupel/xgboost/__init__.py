"""cupel for XGBoost: a callback of xgboost.train, xgboost.cv and the scikit-learn classes."""

from ..core.collection import Collection, CollectionKeys
from ..core.hook_registry import del_hook, set_hook
from ..core.modes import ModeKeys as modes
from ..core.save_config import SaveConfig, SaveConfigMode
from ..trials import create_trial
from .hook import Hook, get_hook

__all__ = [
    "Collection",
    "CollectionKeys",
    "Hook",
    "SaveConfig",
    "SaveConfigMode",
    "create_trial",
    "del_hook",
    "get_hook",
    "modes",
    "set_hook",
]

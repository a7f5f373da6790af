"""cupel for PyTorch: a hook that sees parameters, gradients, layers and losses by itself.

    import cupel.pytorch as smd

    hook = smd.Hook(out_dir="runs/mnist", include_collections=["weights", "gradients"])
    hook.register_module(net)
    hook.register_loss(criterion)
"""

from __future__ import annotations

from typing import Optional

from cupel._native import ReductionConfig, SaveConfig, SaveConfigMode
from cupel.core import hook_registry
from cupel.core.hook_registry import del_hook, set_hook
from cupel.core.modes import ModeKeys as modes
from cupel.trials import create_trial

from .collection import Collection, CollectionKeys
from .hook import Hook

__all__ = [
    "Collection",
    "CollectionKeys",
    "Hook",
    "ReductionConfig",
    "SaveConfig",
    "SaveConfigMode",
    "create_trial",
    "del_hook",
    "get_hook",
    "modes",
    "set_hook",
]


def get_hook(
    json_config_path: Optional[str] = None, create_if_not_exists: bool = False
) -> Optional[Hook]:
    """The hook of this process: the newest one, or the one that set_hook() was given.

    Without one, it is made of the configuration file at `json_config_path`, or at the path in
    SMDEBUG_CONFIG_FILE_PATH, if there is one and `create_if_not_exists` is true; else it is None.
    """

    def create() -> Optional[Hook]:
        if create_if_not_exists and hook_registry.configuration_exists(json_config_path):
            return Hook.create_from_json_file(json_config_path)
        return None

    return hook_registry.get_hook(Hook, create)

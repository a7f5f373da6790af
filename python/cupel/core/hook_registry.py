"""The hook of this process that get_hook() returns: the newest one, or the one that was set."""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING, Any, Callable, Optional

from ..exceptions import SMDebugTypeError
from .config_constants import CONFIG_FILE_PATH_ENV_STR

if TYPE_CHECKING:
    from .base_hook import BaseHook

__all__ = ["del_hook", "get_hook", "set_hook"]

# Where a configuration lies when nothing names its path.
_DEFAULT_PATH = "/opt/ml/input/config/debughookconfig.json"


def _no_hook() -> Optional[BaseHook]:
    return None


_current: Callable[[], Optional[BaseHook]] = _no_hook


def remember(hook: BaseHook) -> None:
    """Makes a new hook the one of the process, as long as somebody else holds it."""
    global _current
    _current = weakref.ref(hook)


def set_hook(custom_hook: BaseHook) -> None:
    """Makes `custom_hook` the one that get_hook() returns, and holds it until it is closed."""
    from .base_hook import BaseHook

    if not isinstance(custom_hook, BaseHook):
        raise SMDebugTypeError(f"a hook is needed, not {type(custom_hook).__name__}")
    global _current
    _current = lambda: custom_hook  # noqa: E731


def del_hook() -> None:
    """Forgets the hook; get_hook() returns or creates another one from then on."""
    global _current
    _current = _no_hook


def forget(hook: BaseHook) -> None:
    """Forgets a hook that was closed, unless another one has taken its place."""
    if _current() is hook:
        del_hook()


def configuration_exists(path: Optional[str] = None) -> bool:
    """Whether there is a configuration file at `path`, or where the environment names one."""
    return os.path.exists(path or os.environ.get(CONFIG_FILE_PATH_ENV_STR) or _DEFAULT_PATH)


def get_hook(hook_class: type, create: Callable[[], Any]) -> Optional[Any]:
    """The open hook of this process if it is a `hook_class`, else what `create` returns."""
    hook = _current()
    if isinstance(hook, hook_class):
        return hook
    hook = create()
    if hook is not None:
        set_hook(hook)
    return hook

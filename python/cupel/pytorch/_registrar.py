"""What registers the modules of a script that knows no hook.

Code that dynamo traces cannot lie in a script that runpy runs: another module is __main__ then.
"""

from __future__ import annotations

import weakref
from typing import Any, Optional

import torch
from torch.nn.modules.loss import _Loss

from ._torch import is_compiling
from .hook import Hook

__all__ = ["Registrar"]


class Registrar:
    """Registers modules when they are called: a pre-hook of all modules.

    The outermost module is called first of all, so the first one with trainable parameters is the
    root. It stays the only one: a second network begins no steps and is not registered.
    """

    def __init__(self, hook: Hook) -> None:
        self._hook = hook
        self._root: Optional[torch.nn.Module] = None
        self._losses: weakref.WeakSet[torch.nn.Module] = weakref.WeakSet()

    def __call__(self, module: torch.nn.Module, args: Any) -> None:
        if is_compiling() or isinstance(module, torch.jit.ScriptModule):
            return
        if isinstance(module, _Loss):
            if self._root is None or module in self._losses:
                return
            self._losses.add(module)
            if not self._is_below_root(module):
                self._hook.register_loss(module)
        elif self._root is None and any(p.requires_grad for p in module.parameters()):
            self._root = module
            self._hook.register_within_call(module, args)

    def _is_below_root(self, module: torch.nn.Module) -> bool:
        return self._root is not None and any(below is module for below in self._root.modules())

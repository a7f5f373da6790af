"""Names of roots, modules and parameters.

A root that is refused leaves everything as it was: names are made in copies, and kept last.
Parameters are told apart by their objects; a parameter that two modules share has one name.
"""

from __future__ import annotations

import re
from typing import Iterator, NamedTuple, Optional

import torch

from cupel.exceptions import SMDebugValueError

from ._roles import Role, class_name_of, innermost, role_of

__all__ = ["NamedModule", "NamedParameter", "NamedRoot", "Roots"]

_WRAPPER = re.compile(
    r"(^|\.)(?:_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module)(?=\.|$)"
)


class NamedModule(NamedTuple):
    """A module below a root, or the root itself, whose path is empty."""

    name: str
    path: str
    module: torch.nn.Module
    role: Role
    is_in_attention: bool

    def output_collections(self) -> tuple[str, ...]:
        """The collections that the outputs of the module are in, whatever their names are."""
        collections = ("activations",) if self.role.is_activation else ()
        return collections + (("attention",) if self.role.is_attention else ())


class NamedParameter(NamedTuple):
    """A parameter: the module that owns it, and its name there."""

    name: str
    owner: torch.nn.Module
    key: str
    module: NamedModule


class NamedRoot(NamedTuple):
    """A registered module with everything below it."""

    name: str
    wanted_name: str
    module: torch.nn.Module
    modules: list[NamedModule]
    parameters: list[NamedParameter]


def plain_path(path: str) -> str:
    """The path without the names that wrappers of torch add to it."""
    while True:
        shorter = _WRAPPER.sub("", path).lstrip(".")
        if shorter == path:
            return path
        path = shorter


def _walk(root: torch.nn.Module) -> Iterator[tuple[str, torch.nn.Module]]:
    """All modules once, outermost first; of a module and its wrappers the outermost wrapper."""
    seen: set[str] = set()
    for path, module in root.named_modules():
        path = plain_path(path)
        if path not in seen:
            seen.add(path)
            yield path, module


class Roots:
    """The registered roots, and the names that are taken."""

    def __init__(self) -> None:
        self.roots: list[NamedRoot] = []
        self._names: set[str] = set()
        self._parameter_names: set[str] = set()
        self._parameters: set[int] = set()

    def add(self, module: torch.nn.Module, name: Optional[str]) -> NamedRoot:
        """Names the root and all below it. Raises SMDebugValueError for what is watched already."""
        wanted = name or class_name_of(module)
        self._check_apart(module, wanted)
        root_name = self._free(wanted, self._names)
        names = set(self._names) | {root_name}
        modules = self._name_modules(module, root_name, names)
        parameter_names = set(self._parameter_names)
        known = set(self._parameters)
        parameters = []
        for named in modules:
            for owner in _with_wrapped(named.module):
                for key, parameter in owner._parameters.items():
                    if parameter is None or id(parameter) in known:
                        continue
                    known.add(id(parameter))
                    path = f"{named.path}.{key}" if named.path else key
                    full = self._free(f"{root_name}_{path}", parameter_names)
                    parameter_names.add(full)
                    parameters.append(NamedParameter(full, owner, key, named))
        root = NamedRoot(root_name, wanted, module, modules, parameters)
        self.roots.append(root)
        self._names = names
        self._parameter_names = parameter_names
        self._parameters = known
        return root

    def name_of(self, module: torch.nn.Module) -> Optional[str]:
        """The name of a module that is a root or below one; None for others."""
        inner = innermost(module)
        for root in self.roots:
            for named in root.modules:
                if named.module is module or innermost(named.module) is inner:
                    return named.name
        return None

    def added_parameters(self) -> list[str]:
        """The names that parameters would have which were added after the registration."""
        names = []
        for root in self.roots:
            known = {(id(named.owner), named.key) for named in root.parameters}
            for path, owner in root.module.named_modules():
                for key, parameter in owner._parameters.items():
                    is_new = parameter is not None and (id(owner), key) not in known
                    if is_new and id(parameter) not in self._parameters:
                        path = plain_path(f"{path}.{key}" if path else key)
                        names.append(f"{root.name}_{path}")
        return names

    @staticmethod
    def _free(wanted: str, taken: set[str]) -> str:
        name, number = wanted, 1
        while name in taken:
            name, number = f"{wanted}_{number}", number + 1
        return name

    @staticmethod
    def _name_modules(
        module: torch.nn.Module, root_name: str, names: set[str]
    ) -> list[NamedModule]:
        modules: list[NamedModule] = []
        attention: Optional[str] = None  # the path of the attention module passed last
        for path, below in _walk(module):
            name = path or root_name
            if path:
                if name in names:
                    name = f"{root_name}.{path}"
                name = Roots._free(name, names)
                names.add(name)
            role = role_of(below)
            if role.is_attention and (attention is None or not _is_below(path, attention)):
                attention = path
            in_attention = attention is not None and _is_below(path, attention)
            modules.append(NamedModule(name, path, below, role, in_attention))
        return modules

    def _check_apart(self, module: torch.nn.Module, name: str) -> None:
        inner = innermost(module)
        below_new = {id(innermost(m)): p for p, m in _walk(module)}
        for root in self.roots:
            for named in root.modules:
                if innermost(named.module) is inner:
                    where = f'"{named.path}" of the root' if named.path else "the root"
                    raise SMDebugValueError(
                        f'register_module: the module is watched already: "{name}" is {where} '
                        f'"{root.name}"'
                    )
            path = below_new.get(id(innermost(root.module)))
            if path is not None:
                raise SMDebugValueError(
                    f'register_module: a module is watched already: "{plain_path(path)}" of '
                    f'"{name}" is the root "{root.name}"'
                )


def _with_wrapped(module: torch.nn.Module) -> Iterator[torch.nn.Module]:
    """The module, and the modules that it wraps under the same name."""
    yield module
    for attribute in ("_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"):
        inner = module._modules.get(attribute)
        if inner is not None:
            yield from _with_wrapped(inner)


def _is_below(path: str, other: str) -> bool:
    return not other or path == other or path.startswith(other + ".")

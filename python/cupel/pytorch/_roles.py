"""What a module is, by its class: the collections that its parameters and outputs are in."""

from __future__ import annotations

from typing import NamedTuple

import torch

__all__ = ["Role", "class_name_of", "innermost", "role_of"]

_ACTIVATIONS = frozenset(
    (
        "CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid "
        "LogSoftmax Mish PReLU RReLU ReLU ReLU6 SELU SiLU Sigmoid Softmax Softmax2d Softmin "
        "Softplus Softshrink Softsign Tanh Tanhshrink Threshold"
    ).split()
)


class Role(NamedTuple):
    """What the class of a module tells about it."""

    is_norm: bool
    is_embedding: bool
    is_activation: bool
    is_attention: bool


def innermost(module: torch.nn.Module) -> torch.nn.Module:
    """The module that torch.compile, FSDP1 or activation checkpointing has wrapped."""
    for attribute in ("_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"):
        inner = module._modules.get(attribute)
        if inner is not None:
            return innermost(inner)
    return module


def class_name_of(module: torch.nn.Module) -> str:
    """The name of the module's class, as its author wrote it.

    fully_shard() makes a class FSDPNet of Net; torch.compile() hides it behind OptimizedModule.
    """
    wrapped = module._modules.get("_orig_mod")
    if wrapped is not None:
        return class_name_of(wrapped)
    cls = type(module)
    if cls.__name__.startswith("FSDP") and len(cls.__bases__) == 2:
        marker, own = cls.__bases__
        if marker.__name__ == "FSDPModule":
            return own.__name__
    return cls.__name__


def _without_number(name: str) -> str:
    """The name without the dimensions or the version at its end: BatchNorm2d, FlashAttention2."""
    if len(name) > 1 and name[-1] == "d" and name[-2].isdigit():
        name = name[:-1]
    return name.rstrip("0123456789")


def role_of(module: torch.nn.Module) -> Role:
    """The role of the module, by the class that its author wrote."""
    inner = innermost(module)
    cls = type(inner)
    name = class_name_of(inner)
    # Parametrized modules have a class that is made for them: ParametrizedLinear.
    name = name[len("Parametrized") :] if hasattr(inner, "parametrizations") else name
    bare = _without_number(name)
    is_activation = (
        name in _ACTIVATIONS
        or bare.endswith("Activation")
        or cls.__module__.startswith("transformers.activations")
    )
    return Role(
        is_norm=bare.endswith("Norm"),
        is_embedding=bare.endswith(("Embedding", "Embeddings", "EmbeddingBag")),
        is_activation=is_activation,
        is_attention=bare.endswith(("Attention", "Attn")),
    )

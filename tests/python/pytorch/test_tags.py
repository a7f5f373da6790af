"""Collections that say what a tensor is, by the class of its module."""

from __future__ import annotations

import collections

import pytest
import torch
from torch import nn

import cupel.pytorch as smd

X = torch.ones(2, 4, 8)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 8)
        self.attn = nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm = nn.LayerNorm(8)
        self.head = nn.Sequential(collections.OrderedDict(fc=nn.Linear(8, 8), act_fn=nn.GELU()))

    def forward(self, ids):
        x = self.embed(ids)
        return self.head(self.norm(x + self.attn(x, x, x)[0]))


IDS = torch.zeros(2, 4, dtype=torch.int64)


@pytest.fixture
def block():
    return Block()


def names_of(run_dir, collection, block, steps=1):
    hook = smd.Hook(run_dir, include_collections=[collection])
    hook.register_module(block)
    optimizer = torch.optim.SGD([p for p in block.parameters() if p.requires_grad], lr=0.1)
    for _ in range(steps):
        block(IDS).sum().backward()
        optimizer.step()
    names = set(hook.get_collection(collection).tensor_names)
    hook.close()
    return names


def test_parameters_of_normalisation_layers_are_in_norms(block, run_dir):
    assert names_of(run_dir, "norms", block) == {"Block_norm.weight", "Block_norm.bias"}


def test_parameters_of_embeddings_are_in_embeddings(block, run_dir):
    assert names_of(run_dir, "embeddings", block) == {"Block_embed.weight"}


def test_outputs_of_activation_classes_are_in_activations(block, run_dir):
    assert names_of(run_dir, "activations", block) == {"head.act_fn_output_0"}


def test_parameters_and_outputs_of_attention_are_in_attention(block, run_dir):
    assert names_of(run_dir, "attention", block) == {
        "Block_attn.in_proj_weight",
        "Block_attn.in_proj_bias",
        "Block_attn.out_proj.weight",
        "Block_attn.out_proj.bias",
        "attn_output_0",
        "attn_output_1",
    }


def test_parameters_without_gradient_at_the_first_step_are_frozen(block, run_dir):
    block.head.fc.requires_grad_(False)
    assert names_of(run_dir, "frozen", block) == {"Block_head.fc.weight", "Block_head.fc.bias"}


def test_parameters_in_no_optimizer_are_frozen_once_one_has_stepped(run_dir):
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    hook = smd.Hook(run_dir, include_collections=["frozen"])
    hook.register_module(net)
    optimizer = torch.optim.SGD(net[1].parameters(), lr=0.1)
    for _ in range(6):
        net(torch.ones(1, 2)).sum().backward()
        optimizer.step()
    names = set(hook.get_collection("frozen").tensor_names)
    hook.close()
    assert names == {"Sequential_0.weight", "Sequential_0.bias"}


def test_tags_save_nothing_by_themselves(block, run_dir, saved):
    hook = smd.Hook(run_dir)
    hook.register_module(block)
    block(IDS)
    assert saved(hook) == {}


def test_tags_are_listed_in_the_run(block, run_dir):
    hook = smd.Hook(run_dir, include_collections=["weights", "biases"])
    hook.register_module(block)
    block(IDS)
    hook.close()
    trial = smd.create_trial(run_dir)
    assert set(trial.tensor_names(collection="norms")) == {"Block_norm.weight", "Block_norm.bias"}


@pytest.mark.parametrize(
    ("name", "tag"),
    [
        ("LlamaRMSNorm", "is_norm"),
        ("BatchNorm2d", "is_norm"),
        ("BertEmbeddings", "is_embedding"),
        ("EmbeddingBag", "is_embedding"),
        ("LlamaAttention", "is_attention"),
        ("GPT2FlashAttention2", "is_attention"),
        ("NewGELUActivation", "is_activation"),
        ("ReLU6", "is_activation"),
    ],
)
def test_classes_of_libraries_are_known_by_their_names(name, tag):
    from cupel.pytorch._roles import role_of

    role = role_of(type(name, (nn.Module,), {})())
    assert [field for field in role._fields if getattr(role, field)] == [tag]


@pytest.mark.parametrize("name", ["Linear", "Normalize", "AttentionPooler", "Reluctant"])
def test_classes_with_similar_names_are_not_taken_for_them(name):
    from cupel.pytorch._roles import role_of

    assert not any(role_of(type(name, (nn.Module,), {})()))

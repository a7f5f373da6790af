"""Several registered modules: their names, and whose forward begins a step."""

from __future__ import annotations

import logging

from every_step import every_step
import pytest
import torch
from torch import nn

import cupel.pytorch as smd
from cupel.exceptions import SMDebugValueError

X = torch.ones(1, 2)


def test_the_forward_of_the_first_root_begins_steps_and_others_join(run_dir, saved):
    first, second = nn.Linear(2, 2), nn.Bilinear(2, 2, 1)
    hook = every_step(run_dir, save_all=True)
    hook.register_module(first)
    hook.register_module(second)
    for _ in range(2):
        y = first(X)
        second(y, y)
    steps = saved(hook)
    assert list(steps) == [0, 1]
    assert {"Linear_output_0", "Bilinear_output_0", "Bilinear_weight"} <= set(steps[1])


def test_which_root_begins_steps_can_be_chosen(run_dir, saved):
    first, second = nn.Linear(2, 2), nn.Bilinear(2, 2, 1)
    hook = every_step(run_dir, include_collections=["weights"])
    hook.register_module(first, begins_step=False)
    hook.register_module(second, begins_step=True)
    for _ in range(3):
        first(X)
    second(X, X)
    assert list(saved(hook)) == [0]


def test_a_second_root_of_a_name_is_numbered_with_one_warning(run_dir, saved, caplog):
    roots = [nn.Linear(2, 2) for _ in range(3)]
    hook = every_step(run_dir, include_collections=["weights"])
    with caplog.at_level(logging.WARNING, logger="cupel"):
        for root in roots:
            hook.register_module(root)
    roots[0](X)
    assert set(saved(hook)[0]) == {"Linear_weight", "Linear_1_weight", "Linear_2_weight"}
    assert len([r for r in caplog.records if "is taken" in r.getMessage()]) == 1


def test_modules_below_a_second_root_keep_their_path_unless_it_is_taken(run_dir, saved):
    first = nn.Sequential(nn.ReLU())
    second = nn.Sequential(nn.Tanh(), nn.ReLU())
    hook = every_step(run_dir, save_all=True)
    hook.register_module(first)
    hook.register_module(second)
    second(first(X))
    names = set(saved(hook)[0])
    assert {"0_output_0", "Sequential_1.0_output_0", "1_output_0"} <= names


def test_the_same_module_twice_is_refused_naming_both(run_dir):
    net = nn.Linear(2, 2)
    hook = every_step(run_dir)
    hook.register_module(net)
    with pytest.raises(SMDebugValueError, match='"again".*"Linear"'):
        hook.register_module(net, name="again")


def test_a_root_below_a_registered_root_is_refused_naming_both(run_dir):
    net = nn.Sequential(nn.Linear(2, 2))
    hook = every_step(run_dir)
    hook.register_module(net)
    with pytest.raises(SMDebugValueError, match='"Linear".*"0".*"Sequential"'):
        hook.register_module(net[0])


def test_a_root_above_a_registered_root_is_refused_naming_both(run_dir):
    net = nn.Sequential(nn.Linear(2, 2))
    hook = every_step(run_dir)
    hook.register_module(net[0])
    with pytest.raises(SMDebugValueError, match='"0".*"Sequential".*"Linear"'):
        hook.register_module(net)


def test_a_refused_root_leaves_the_hook_as_it_was(run_dir, saved):
    net = nn.Sequential(nn.Linear(2, 2))
    hook = every_step(run_dir, include_collections=["weights"])
    hook.register_module(net[0])
    with pytest.raises(SMDebugValueError):
        hook.register_module(net)
    hook.register_module(nn.Sequential(nn.Linear(2, 1)))
    net[0](X)
    assert set(saved(hook)[0]) == {"Linear_weight", "Sequential_0.weight"}


def test_two_hooks_on_one_model_both_save_with_their_own_numbers(tmp_path, read_back):
    net = nn.Sequential(nn.Linear(2, 2))
    hooks = [every_step(str(tmp_path / name), save_all=True) for name in ("a", "b")]
    hooks[0].register_module(net)
    net(X)
    hooks[1].register_module(net)
    net(X).sum().backward()
    for hook in hooks:
        hook.close()
    assert list(read_back(str(tmp_path / "a"))) == [0, 1]
    steps = read_back(str(tmp_path / "b"))
    assert list(steps) == [0]
    assert "gradient/Sequential_0.weight" in steps[0] and "0_output_1" not in steps[0]


def test_a_module_without_parameters_is_accepted(run_dir, saved):
    net = nn.ReLU()
    hook = every_step(run_dir, save_all=True)
    hook.register_module(net)
    net(X)
    assert set(saved(hook)[0]) == {"ReLU_input_0", "ReLU_output_0"}


def test_tensors_of_a_module_are_selected_by_the_module(run_dir, saved):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1 = nn.Linear(2, 2)
            self.xfc1 = nn.Linear(2, 2)

        def forward(self, x):
            return self.xfc1(self.fc1(x))

    net = Net()
    hook = every_step(run_dir, include_collections=["mine"])
    hook.get_collection("mine").add_module_tensors(net.fc1, inputs=True, outputs=True)
    hook.register_module(net)
    net(X)
    assert set(saved(hook)[0]) == {"fc1_input_0", "fc1_output_0"}


def test_the_outputs_of_a_selected_module_are_taken_by_default(run_dir, saved):
    net = nn.Sequential(nn.Linear(2, 2))
    hook = every_step(run_dir, include_collections=["mine"])
    hook.register_module(net)
    hook.get_collection("mine").add_module_tensors(net[0])
    net(X)
    assert set(saved(hook)[0]) == {"0_output_0"}


def test_a_model_in_dataparallel_is_named_with_its_wrapper(run_dir, saved):
    net = nn.DataParallel(nn.Linear(2, 1))
    hook = every_step(run_dir, save_all=True)
    hook.register_module(net)
    net(torch.ones(1, 2)).sum().backward()
    assert {
        "DataParallel_module.weight",
        "gradient/DataParallel_module.weight",
        "DataParallel_output_0",
    } <= set(saved(hook)[0])


def test_an_encoder_computes_the_same_where_it_is_watched(run_dir):
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    net = nn.TransformerEncoder(layer, 2).eval()
    x = torch.randn(2, 3, 4)
    with torch.no_grad():
        expected = net(x)
        hook = every_step(run_dir, save_all=True)
        hook.register_module(net)
        watched = net(x)
    hook.close()
    assert torch.allclose(watched, expected, atol=1e-6)


def test_the_hook_of_the_process_is_set_and_forgotten(run_dir, monkeypatch):
    monkeypatch.delenv("SMDEBUG_CONFIG_FILE_PATH", raising=False)
    hook = smd.Hook(run_dir)
    try:
        assert smd.get_hook() is hook
        smd.del_hook()
        assert smd.get_hook() is None
        smd.set_hook(hook)
        assert smd.get_hook(create_if_not_exists=True) is hook
    finally:
        smd.del_hook()
        hook.close()


@pytest.mark.parametrize(
    "module, names",
    [("hook", {"Hook"}), ("collection", {"Collection", "CollectionKeys", "CollectionManager"})],
)
def test_a_star_imports_the_names_of_the_module_alone(module, names):
    seen = {}
    exec(f"from cupel.pytorch.{module} import *", seen)
    assert set(seen) - {"__builtins__"} == names

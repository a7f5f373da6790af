#!/usr/bin/env python3
"""Works out the value of every "fires" line of the cases here from the definitions of the rules.

Reads raw values only where a case holds them, else the reductions that it declares; says which
lines it cannot check. Exit code 1 where a value is not the declared one.
"""
import json
import math
import pathlib
import re
import struct
import sys


def number(x):
    return float(x) if not isinstance(x, str) else float(x.replace("Infinity", "inf"))


def flat(x):
    return [y for item in x for y in flat(item)] if isinstance(x, list) else [number(x)]


def values(tensor):
    """The raw elements as they are saved; None where they are not."""
    if isinstance(tensor, list):
        tensor = {"raw": tensor}
    if not isinstance(tensor, dict):
        return [number(tensor)]
    if "raw" not in tensor:
        return None
    numbers = flat(tensor["raw"]) * tensor.get("repeat", 1)
    if tensor.get("dtype", "f32") == "f32":
        numbers = [struct.unpack("f", struct.pack("f", x))[0] for x in numbers]
    return numbers


def saved(tensor, name):
    found = tensor.get(name) if isinstance(tensor, dict) else None
    return None if found is None else number(found)


def mean(tensor):
    raw = values(tensor)
    if saved(tensor, "mean") is not None:
        return saved(tensor, "mean")
    if saved(tensor, "sum") is not None:
        return saved(tensor, "sum") / (len(raw) if raw else tensor.get("elements", 4))
    return sum(raw) / len(raw)


def all_zero(run, step, tensor, worker, _message):
    t = run[step]["tensors"][worker][tensor]
    counts = t.get("counts") if isinstance(t, dict) else None
    if counts:
        return 100 * counts.get("zero", 0) / len(values(t))
    if saved(t, "abs_max") == 0 or (saved(t, "min") == 0 and saved(t, "max") == 0):
        return 100
    raw = values(t)
    return 100 * sum(x == 0 for x in raw) / len(raw)


def tensor_variance(run, step, tensor, worker, _message):
    t = run[step]["tensors"][worker][tensor]
    if saved(t, "variance") is not None:
        return saved(t, "variance")
    if saved(t, "std") is not None:
        return saved(t, "std") ** 2
    raw = values(t)
    middle = sum(raw) / len(raw)
    return sum((x - middle) ** 2 for x in raw) / len(raw)


def norm(numbers):
    return math.inf if any(map(math.isinf, numbers)) else math.hypot(*numbers)


def weight_update_ratio(run, step, tensor, worker, message, parameters):
    epsilon = float(parameters.get("epsilon", "1e-9"))
    partner = int(re.search(r"step (\d+)$", message).group(1))
    mode = re.search(r"since (\w+) step", message)
    before = next(s for s in run
                  if (s if mode is None else run[s]["mode_step"]) == partner
                  and (mode is None or run[s]["mode"] == mode.group(1)))
    now, then = (run[s]["tensors"][worker][tensor] for s in (step, before))
    if "at least" in message:
        a, b = saved(now, "l2"), saved(then, "l2")
        return (abs(a - b) - 1e-13 * (a + b)) / (b + epsilon)
    a, b = values(now), values(then)
    return norm([x - y for x, y in zip(a, b)]) / (norm(b) + epsilon)


def unchanged_tensor(run, step, tensor, worker, message):
    steps = [int(s) for s in re.findall(r"\d+", message.split("largest")[0])]
    sets = [run[s]["tensors"][worker][tensor] for s in steps]
    if "approximate" in message:
        names = message.split(" of ")[1].split(", ")
        lists = [[saved(t, name) for name in names] for t in sets]
    else:
        lists = [values(t) for t in sets]
    return max((abs(x - y) for b in lists[:-1] for x, y in zip(lists[-1], b)
                if math.isfinite(x) and math.isfinite(y)), default=0)


def loss_not_decreasing(run, step, tensor, _worker, message):
    def loss(at):
        copies = [w[tensor] for w in run[at]["tensors"].values() if tensor in w]
        return sum(mean(t) for t in copies) / len(copies)

    def base(x):
        return abs(x) or 1e-12

    now = loss(step)
    if not math.isfinite(now):
        return now
    if message.startswith("increase"):
        best = float(re.search(r"lowest, (\S+),", message).group(1))
        return 100 * (now - best) / base(best)
    mode, number_before = re.search(r"at (?:(\w+) )?step (\d+)", message).groups()
    before = next(loss(s) for s in run
                  if (run[s]["mode_step"] if mode else s) == int(number_before)
                  and (mode is None or run[s]["mode"] == mode))
    return 100 * (before - now) / base(before)


RULES = {"AllZero": all_zero, "TensorVariance": tensor_variance,
         "WeightUpdateRatio": weight_update_ratio, "UnchangedTensor": unchanged_tensor,
         "LossNotDecreasing": loss_not_decreasing}


def run_of(case):
    first_worker = case.get("workers", ["worker_0"])[0]
    run = {}
    for step in case["steps"]:
        numbers = step["step"] if isinstance(step["step"], list) else [step["step"]]
        for s in numbers:
            run[s] = {"mode": step.get("mode", "TRAIN"), "mode_step": step.get("mode_step", s),
                      "tensors": step.get("workers") or {first_worker: step["tensors"]}}
    return run


def main():
    checked = wrong = 0
    for path in sorted(pathlib.Path(__file__).parent.glob("*.json")):
        rule = path.stem
        if rule not in RULES:
            print(f"{rule}: not computed here")
            continue
        for case in json.loads(path.read_text())["cases"]:
            for step, lines in case.get("expect", {}).items():
                for line in lines:
                    found = re.fullmatch(r"fires (\S+) (\S+) (\S+) vs (\S+): (.*)", line)
                    if not found:
                        continue
                    tensor, worker, value, _, message = found.groups()
                    more = [case.get("parameters", {})] if rule == "WeightUpdateRatio" else []
                    want = RULES[rule](run_of(case), int(step), tensor, worker, message, *more)
                    said = number(value)
                    checked += 1
                    same = said == want or (math.isnan(said) and math.isnan(want)) or \
                        math.isclose(said, want, rel_tol=1e-14, abs_tol=0)
                    if not same:
                        wrong += 1
                        print(f"{rule}.{case['name']}, step {step}: {value}, computed {want!r}")
    print(f"{checked} values computed, {wrong} are others")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

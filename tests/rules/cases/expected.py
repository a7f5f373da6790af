#!/usr/bin/env python3
"""Works out the value of every "fires" line of the cases here from the definitions of the rules.

Reads raw values only where a case holds them, else the reductions that it declares. Exit code 1
where a value is not the declared one, or a rule is not known here.
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


def loss_at(run, step, tensor):
    """The mean over workers; None where it was not saved."""
    copies = [w[tensor] for w in run[step]["tensors"].values() if tensor in w]
    return sum(mean(t) for t in copies) / len(copies) if copies else None


def losses_until(run, step, tensor):
    found = [(s, run[s]["mode"], loss_at(run, s, tensor)) for s in sorted(run) if s <= step]
    return [loss for loss in found if loss[2] is not None]


def has_evaluation(run, step):
    return any(run[s]["mode"] == "EVAL" for s in run if s <= step)


def overfit(run, step, tensor, _worker, _message, parameters):
    first = int(parameters.get("start_step", "0"))
    if not has_evaluation(run, step):
        training = loss_at(run, step, "train-" + tensor.split("-", 1)[1])
        return (loss_at(run, step, tensor) - training) / (abs(training) or 1e-12)
    stretches = {"TRAIN": [], "EVAL": []}
    last = None
    for s, mode, loss in losses_until(run, step, tensor):
        if s < first or mode not in stretches:
            continue
        if mode != last:
            stretches[mode] = []
        last = mode
        if math.isfinite(loss):
            stretches[mode].append(loss)
    training, validation = (sum(x) / len(x) for x in (stretches["TRAIN"], stretches["EVAL"]))
    return (validation - training) / (abs(training) or 1e-12)


def losses_without_improvement(losses, delta):
    best, wait = math.inf, 0
    for loss in losses:
        if math.isfinite(loss) and best - loss > delta:
            best, wait = loss, 0
        else:
            wait += 1
    return wait


def overtraining(run, step, tensor, _worker, _message, parameters):
    losses = [loss for _, mode, loss in losses_until(run, step, tensor)
              if not has_evaluation(run, step) or mode == run[step]["mode"]]
    return losses_without_improvement(losses, float(parameters.get("delta", "0.01")))


def classes_of(tensor, rows):
    """None for what names no class."""
    raw = values(tensor)
    shape = tensor.get("shape", [len(raw)]) if isinstance(tensor, dict) else [len(raw)]
    if rows and shape[-1] > 1:
        table = [raw[i:i + shape[-1]] for i in range(0, len(raw), shape[-1])]
        return [None if any(map(math.isnan, row)) else row.index(max(row)) for row in table]
    return [None if not math.isfinite(x) else int(x) if x == int(x) else int(x >= 0.5)
            for x in raw]


def rank(tensor):
    return len(tensor.get("shape", [0])) if isinstance(tensor, dict) else 1


def confusion(run, step, tensor, _worker, message, parameters):
    pairs = []
    for tensors in run[step]["tensors"].values():
        def chosen(kind, pattern):
            name = parameters.get(kind, kind)
            if name in tensors:
                return [tensors[name]]
            names = [n for n in tensors if re.search(pattern, n)]
            return [tensors[n] for n in sorted(names, key=lambda n: int(n.split("_")[1]))]
        labels, predictions = chosen("labels", "^y_"), chosen("predictions", "^p_")
        rows = rank(predictions[0]) == 2
        pairs += zip([c for t in labels for c in classes_of(t, rows and rank(t) == 2)],
                     [c for t in predictions for c in classes_of(t, rows)])
    most = int(parameters.get("category_no", "0")) or math.inf
    pairs = [p for p in pairs if all(c is not None and 0 <= c < most for c in p)]
    both = re.match(r"labelled and predicted (\d+)", message)
    label, prediction = both.groups() * 2 if both else \
        re.match(r"labelled (\d+), predicted (\d+)", message).groups()
    whole = {"true": [p for p in pairs if p[0] == int(label)],
             "predicted": [p for p in pairs if p[1] == int(prediction)],
             "trace": [p for p in pairs if p[0] == p[1]]}
    normalize = parameters.get("normalize", "predicted").lower()
    if normalize == "trace" and not both:
        normalize = "predicted"
    return pairs.count((int(label), int(prediction))) / len(whole[normalize])


def class_imbalance(run, step, _tensor, _worker, message, parameters):
    rows = parameters.get("argmax") == "True"
    window = []
    for s in sorted(run):
        if s > step or run[s]["mode"] != run[step]["mode"]:
            continue
        if len(window) >= int(parameters.get("samples", "500")):
            window = []
        for tensors in run[s]["tensors"].values():
            if "labels" not in tensors or "mean" in tensors["labels"]:
                continue
            guesses = tensors.get("predictions")
            one_hot = rows and guesses is not None and rank(guesses) == rank(tensors["labels"])
            labels = classes_of(tensors["labels"], one_hot)
            predictions = classes_of(guesses, rows) if guesses else []
            if len(labels) != len(predictions):
                predictions = [None] * len(labels)
            window += [p for p in zip(labels, predictions) if p[0] is not None]
    if message.startswith("imbalance"):
        counts = [sum(label == c for label, _ in window) for c in {label for label, _ in window}]
        return max(counts) / min(counts)
    one = int(re.match(r"class (\S+) ", message).group(1))
    judged = [p for p in window if p[0] == one and p[1] is not None]
    return sum(p[1] != one for p in judged) / len(judged)


def percentile(numbers, part):
    numbers = sorted(numbers)
    at = part * (len(numbers) - 1)
    low = math.floor(at)
    return numbers[low] + (at - low) * (numbers[min(low + 1, len(numbers) - 1)] - numbers[low])


def poor_weight_initialization(run, step, tensor, worker, message):
    if message.startswith("variance"):
        other = message.rsplit(" ", 1)[1]
        least, most = (tensor_variance(run, step, t, worker, message) for t in (other, tensor))
        return most / least if least else math.inf
    if message.startswith("least spread"):
        raw = values(run[step]["tensors"][worker][tensor])
        return percentile(raw, 0.95) - percentile(raw, 0.05)
    losses = []
    modes = {run[s]["mode"] for s in run if s <= step}
    for s in sorted(run):
        if s > step or ("TRAIN" in modes and run[s]["mode"] != "TRAIN"):
            continue
        scalars = [number(t) for w in run[s]["tensors"].values() for name, t in w.items()
                   if "loss" in name and not isinstance(t, (list, dict))]
        losses.append(sum(scalars) / len(scalars))
    return losses_without_improvement(losses, 0)


def tree_depth(run, step, tensor, worker, message, _parameters):
    tensors = run[step]["tensors"][worker]
    named = re.search(r"of tree (\S+)", message)
    if named:
        nodes = [n for n, t in zip(values(tensors[tensor]), values(tensors["trees/Tree"]))
                 if t == number(named.group(1))]
    elif saved(tensors[tensor], "max") is not None:
        nodes = [saved(tensors[tensor], "max")]
    else:
        nodes = values(tensors[tensor])
    depth = 0
    while 2 ** (depth + 1) - 1 <= max(nodes):  # the first number of the next level
        depth += 1
    return depth


def feature_importance(run, step, _tensor, worker, _message, parameters):
    pattern = parameters.get("tensor_regex", ".*feature_importance/weight")
    numbers = []
    for name, t in run[step]["tensors"][worker].items():
        raw = values(t) if not isinstance(t, dict) or "raw" in t else None
        given = raw or [x for x in (saved(t, "mean"), saved(t, "sum")) if x is not None]
        if re.search(pattern, name) and len(given) == 1:
            numbers.append(given[0])
    numbers.sort(reverse=True)
    return math.fsum(numbers[:int(parameters.get("nfeatures", "3"))]) / math.fsum(numbers)


def nlp_sequence_ratio(run, step, tensor, _worker, message, _parameters):
    token = number(re.search(r"of token ([^:]+):", message).group(1))
    found = elements = 0
    for tensors in run[step]["tensors"].values():
        t = tensors[tensor]
        if isinstance(t, dict) and "raw" not in t:
            continue
        raw = values(t)
        counts = t.get("counts") if isinstance(t, dict) else None
        found += counts["zero"] if counts and token == 0 else sum(x == token for x in raw)
        elements += len(raw)
    return 100 * found / elements


def inactive_units(t, parameters, is_active):
    raw = values(t)
    shape = t["shape"] if isinstance(t, dict) and "shape" in t else [len(raw)]
    batch = shape[0] if len(shape) > 1 else 1
    units = len(raw) // batch
    least = float(parameters.get("threshold_inactivity", "1"))
    active = [100 * sum(is_active(x) for x in raw[u::units]) / batch for u in range(units)]
    return 100 * sum(a < least for a in active) / units


def dead_relu(run, step, tensor, worker, _message, parameters):
    t = run[step]["tensors"][worker][tensor]
    highest = saved(t, "max")
    if highest is not None and highest <= 0:
        return 100
    return inactive_units(t, parameters, lambda x: x > 0)


def saturated_activation(run, step, tensor, worker, message, parameters):
    t = run[step]["tensors"][worker][tensor]
    name = max(("tanh", "sigmoid"), key=tensor.lower().rfind)
    default = {"tanh": (-9.4999, 9.4999), "sigmoid": (-23, 16.99999)}[name]
    older = parameters.get("threshold_" + name)
    low, high = (float(x) for x in older.strip("()").split(",")) if older else \
        (float(parameters.get(f"threshold_{name}_{end}", default[i]))
         for i, end in enumerate(("min", "max")))
    if saved(t, "min") is not None and saved(t, "min") >= high:
        return 100
    if saved(t, "max") is not None and saved(t, "max") <= low:
        return 100
    return inactive_units(t, parameters, lambda x: low < x < high)


def check_input_images(run, step, tensor, _worker, message, parameters):
    channel = re.search(r"mean of channel (\d+)", message)
    wanted = int(parameters.get("channel", "1"))
    samples = int(parameters["threshold_samples"])
    images = elements = total = 0
    for s in sorted(s for s in run if s <= step and run[s]["mode"] == run[step]["mode"]):
        if images >= samples:
            images = elements = total = 0
        for tensors in run[s]["tensors"].values():
            t = tensors.get(tensor)
            if t is None:
                continue
            shape = t.get("shape", []) if isinstance(t, dict) else []
            raw = values(t)
            axis = wanted + len(shape) if wanted < 0 else wanted
            own = "regex" in parameters or "hybridsequential0_input_0" in tensor
            if not own and "channel" not in parameters and shape[1] > 4 >= shape[-1]:
                axis = len(shape) - 1
            images += shape[0] if shape and axis != 0 else 1
            if saved(t, "mean") is not None and (raw is None or shape[axis] == 1):
                raw = [saved(t, "mean")] * math.prod(shape)
            elif raw is None:
                raw = [saved(t, "sum") / math.prod(shape)] * math.prod(shape)
            if channel and axis < len(shape):
                run_length = math.prod(shape[axis + 1:])
                raw = [x for i, x in enumerate(raw)
                       if i // run_length % shape[axis] == int(channel.group(1))]
            total += math.fsum(raw) if all(map(math.isfinite, raw)) else sum(raw)
            elements += len(raw)
    return abs(total / elements)


def vanishing_gradient(run, step, tensor, worker, _message):
    t = run[step]["tensors"][worker][tensor]
    if saved(t, "abs_mean") is not None:
        return saved(t, "abs_mean")
    for name in ("l1", "abs_l1", "abs_sum"):
        if saved(t, name) is not None:
            return saved(t, name) / t.get("elements", 4)
    return sum(map(abs, values(t))) / len(values(t))


def exploding_tensor(run, step, tensor, worker, _message, parameters):
    """How many elements are bad; without them and their counts, the first bad reduction."""
    t = run[step]["tensors"][worker][tensor]
    only_nan = parameters.get("only_nan") == "True"
    if isinstance(t, dict) and "counts" in t:
        kinds = ["nan"] if only_nan else ["nan", "pos_inf", "neg_inf"]
        return sum(t["counts"].get(kind, 0) for kind in kinds)
    raw = values(t)
    if raw:
        return sum(math.isnan(x) or (math.isinf(x) and not only_nan) for x in raw)
    numbers = [number(x) for name, x in t.items() if name not in ("elements", "shape", "dtype")]
    if any(map(math.isnan, numbers)):
        return math.nan
    return next(x for x in numbers if math.isinf(x))


def similar_across_runs(run, step, tensor, worker, message, _parameters):
    """The largest difference; the other run is at the same step of the same mode."""
    other = run["other"]
    of_step = next(s for s in other.values()
                   if (s["mode"], s["mode_step"]) == (run[step]["mode"], run[step]["mode_step"]))

    def largest(name, who):
        a, b = run[step]["tensors"][who][name], of_step["tensors"][who].get(name)
        if b is None or "shape" in message:
            return 0
        if "means differ" in message:
            names = ["mean"]
        elif "approximate" in message:
            names = message.split(" of ")[1].split(", ")
        else:
            names = None
        pairs = zip(values(a), values(b)) if names is None else \
            [(saved(a, n), saved(b, n)) for n in names]
        return max((abs(x - y) for x, y in pairs if math.isfinite(x) and math.isfinite(y)),
                   default=0)

    if not message.startswith("all "):
        return largest(tensor, worker)
    return max(largest(name, who) for who, of in run[step]["tensors"].items() for name in of)


def stalled_training(case, tick):
    """Seconds since the tick that found the latest step, or since the first one."""
    since, steps = None, -1
    workers = case.get("workers", ["worker_0"])
    saved_at = [(s, w) for step in case["steps"]
                for s in (step["step"] if isinstance(step["step"], list) else [step["step"]])
                for w in step.get("workers", workers[:1])]
    for one in case["ticks"]:
        after = one.get("after", -1)
        there = len(saved_at) if after == "the end" else sum(s <= after for s, _ in saved_at)
        if there != steps:
            since, steps = one["second"], there
        if one is tick:
            return one["second"] - since
    raise ValueError("no such tick")


RULES = {"AllZero": all_zero, "TensorVariance": tensor_variance,
         "WeightUpdateRatio": weight_update_ratio, "UnchangedTensor": unchanged_tensor,
         "LossNotDecreasing": loss_not_decreasing,
         "Overfit": overfit,
         "Overtraining": overtraining,
         "Confusion": confusion,
         "ClassImbalance": class_imbalance,
         "PoorWeightInitialization": poor_weight_initialization,
         "TreeDepth": tree_depth,
         "FeatureImportanceOverweight": feature_importance,
         "NLPSequenceRatio": nlp_sequence_ratio,
         "DeadRelu": dead_relu,
         "SaturatedActivation": saturated_activation,
         "CheckInputImages": check_input_images,
         "VanishingGradient": vanishing_gradient,
         "ExplodingTensor": exploding_tensor,
         "SimilarAcrossRuns": similar_across_runs}
WITH_PARAMETERS = {"WeightUpdateRatio", "Overfit", "Overtraining", "Confusion", "ClassImbalance",
                   "TreeDepth", "FeatureImportanceOverweight", "NLPSequenceRatio", "DeadRelu",
                   "SaturatedActivation", "CheckInputImages", "ExplodingTensor",
                   "SimilarAcrossRuns"}
BY_TICKS = {"StalledTrainingRule": stalled_training}


def run_of(case, steps):
    first_worker = case.get("workers", ["worker_0"])[0]
    run = {}
    for step in steps:
        numbers = step["step"] if isinstance(step["step"], list) else [step["step"]]
        for s in numbers:
            run[s] = {"mode": step.get("mode", "TRAIN"), "mode_step": step.get("mode_step", s),
                      "tensors": step.get("workers") or {first_worker: step["tensors"]}}
    return run


def fired(lines):
    """Tensor, worker, value and message of every line that fires."""
    for line in lines:
        found = re.fullmatch(r"fires (\S*) (\S*) (\S+) vs (\S+): (.*)", line)
        if found:
            tensor, worker, value, _, message = found.groups()
            yield tensor, worker, value, message


def computed(rule, case):
    """Where, what is declared there, and what the definition gives."""
    if rule in BY_TICKS:
        for tick in case.get("ticks", []):
            for _, _, value, _ in fired(tick.get("expect", [])):
                yield f"second {tick['second']}", value, BY_TICKS[rule](case, tick)
        return
    more = [case.get("parameters", {})] if rule in WITH_PARAMETERS else []
    for step, lines in case.get("expect", {}).items():
        run = run_of(case, case["steps"])
        if "other_run" in case:
            run["other"] = run_of(case, case["other_run"]["steps"])
        for tensor, worker, value, message in fired(lines):
            yield f"step {step}", value, RULES[rule](run, int(step), tensor, worker, message, *more)


def main():
    checked = wrong = 0
    for path in sorted(pathlib.Path(__file__).parent.glob("*.json")):
        rule = path.stem
        if rule not in RULES and rule not in BY_TICKS:
            wrong += 1
            print(f"{rule}: not computed here")
            continue
        for case in json.loads(path.read_text())["cases"]:
            for where, value, want in computed(rule, case):
                said = number(value)
                checked += 1
                same = said == want or (math.isnan(said) and math.isnan(want)) or \
                    math.isclose(said, want, rel_tol=1e-14, abs_tol=0)
                if not same:
                    wrong += 1
                    print(f"{rule}.{case['name']}, {where}: {value}, computed {want!r}")
    print(f"{checked} values computed, {wrong} are wrong")
    return 1 if wrong or not checked else 0


if __name__ == "__main__":
    sys.exit(main())

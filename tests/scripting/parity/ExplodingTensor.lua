-- ExplodingTensor: NaN or infinities anywhere in the selected tensors.
--
-- The index is asked first, from the exact to the circumstantial; the raw value is read only where
-- the index leaves it open:
--   1. the counts of NaN and infinities, which the hook keeps of every float tensor it looked at;
--   2. min, max and their abs forms: they propagate NaN, and hold an infinity if one is there;
--   3. mean, sum, l1, l2 and the like: a finite one proves that every element is finite. What is
--      not finite may come from overflow, so the raw value decides where there is one;
--   4. without one, NaN counts as found (or as inf - inf, itself a find unless only_nan), an
--      infinite mean as an infinity, and anything else stays open: the tensor is skipped.

local FLOATING = { f16 = true, bf16 = true, f32 = true, f64 = true }
local EXTREMES = { "min", "max", "abs_min", "abs_max" }
local SUMS = { "mean", "abs_mean", "sum", "abs_sum", "l1", "abs_l1", "l2", "abs_l2" }
local OTHER_TOTALS = { "std", "abs_std", "variance", "abs_variance", "prod", "abs_prod" }
local NAN = 0 / 0
local OPEN = "what was saved leaves open whether there are NaN or infinities; min and max, or the "
  .. "raw value, would say"

local function is_nan(x) return x ~= x end
local function is_infinite(x) return x == math.huge or x == -math.huge end

-- Those of the names that were saved, each made text by `text(name, value)`.
local function listed(saved, names, text)
  local texts = {}
  for _, name in ipairs(names) do
    if saved[name] then texts[#texts + 1] = text(name, saved[name]) end
  end
  return table.concat(texts, ", ")
end
local function named_values(saved, names)
  return listed(saved, names, function(name, value) return name .. " " .. cupel.text(value) end)
end
local function names_of(saved, names)
  return listed(saved, names, function(name) return name end) .. " (saved)"
end

-- A judgement is {fired =, value =, nan =, read =, found =}: whether and with what value the tensor
-- fires, whether a NaN was met, and in words what was read and what was found there.

local function judge_counts(counts, only_nan, read)
  local bad = counts.nan
  if not only_nan then bad = bad + counts.pos_inf + counts.neg_inf end
  return {
    fired = bad > 0,
    value = bad,
    nan = counts.nan > 0,
    read = read,
    found = "nan " .. counts.nan .. ", +inf " .. counts.pos_inf .. ", -inf " .. counts.neg_inf,
  }
end

-- Stage 2; nil where extremes that were not saved might say otherwise.
local function judge_extremes(saved, only_nan)
  local any, nan, infinity = false, false, nil
  for _, name in ipairs(EXTREMES) do
    local value = saved[name]
    if value then
      any = true
      nan = nan or is_nan(value)
      if is_infinite(value) then infinity = value end
    end
  end
  if not any then return nil end
  local judgement = { read = names_of(saved, EXTREMES), found = named_values(saved, EXTREMES) }
  if nan then
    judgement.fired, judgement.nan, judgement.value = true, true, NAN
    return judgement
  end
  if only_nan then return judgement end -- one that is no NaN rules NaN out
  if infinity then
    judgement.fired, judgement.value = true, infinity
    return judgement
  end
  if saved.min and saved.max or saved.abs_max then return judgement end
  return nil
end

-- Stage 3: one finite total proves that no element was NaN or infinite; one that is no NaN, that
-- none was NaN.
local function prove_clean(saved, only_nan)
  for _, totals in ipairs { SUMS, OTHER_TOTALS } do
    for _, name in ipairs(totals) do
      local value = saved[name]
      if value and not is_nan(value) and (only_nan or not is_infinite(value)) then
        return { read = name .. " (saved)", found = name .. " " .. cupel.text(value) }
      end
    end
  end
  return nil
end

-- Stage 4: there is no raw value, and no total is clean.
local function judge_totals(saved, only_nan)
  local any_nan, infinite_mean = false, nil
  for _, name in ipairs(SUMS) do
    local value = saved[name]
    if value then
      any_nan = any_nan or is_nan(value)
      local is_mean = name == "mean" or name == "abs_mean"
      if is_mean and is_infinite(value) then infinite_mean = value end
    end
  end
  local judgement = { fired = true, value = NAN, nan = any_nan }
  judgement.read, judgement.found = names_of(saved, SUMS), named_values(saved, SUMS)
  if any_nan then
    judgement.found = judgement.found
      .. (only_nan and ", approximate: nan or inf-inf" or ", nan or inf-inf")
    return judgement
  end
  if not infinite_mean then return nil end
  judgement.value = infinite_mean
  return judgement
end

local function judge_value(value, only_nan)
  local counts = value:counts()
  local judgement = judge_counts(counts, only_nan, "nan, inf (from raw)")
  if judgement.fired then
    local bad = only_nan and value:isnan() or ~value:isfinite()
    -- Elements are counted from 1 here, and from 0 where people look for them.
    judgement.found = judgement.found .. ", the first at element " .. bad:argmax() - 1
  end
  return judgement
end

-- Of one worker's copy of a tensor: a judgement, or nil and why there is none.
local function judge(tensor, step, worker, only_nan)
  local from = { worker = worker }
  local record = tensor:record(step, from)
  if not FLOATING[record.dtype] then
    return { read = record.dtype .. " (dtype)", found = "cannot hold NaN or infinities" }
  end
  local counts = tensor:counts(step, from)
  if counts then return judge_counts(counts, only_nan, "nan, inf (counts)") end
  if record.elements == 0 then return { read = "elements (saved)", found = "empty" } end
  local saved = tensor:reduction_values(step, from)
  local judgement = judge_extremes(saved, only_nan) or prove_clean(saved, only_nan)
  if judgement then return judgement end
  if not record.has_value then return judge_totals(saved, only_nan), OPEN end
  local is_there, value = pcall(tensor.value, tensor, step, from)
  if is_there then return judge_value(value, only_nan) end
  -- What is no missing value is an error of the rule.
  if value.kind ~= "TensorUnavailableForStep" then error(value, 0) end
  return nil, value.message
end

-- Judges one worker's copy of a tensor, and reports the result.
local function report(rule, tensor, step, worker)
  local judgement, why_not = judge(tensor, step, worker, rule.params.only_nan)
  if not judgement then
    return rule:skip { tensor = tensor:name(), worker = worker, reason = why_not }
  end
  if judgement.nan then rule:saw_nan() end
  if judgement.fired then
    rule:issue {
      tensor = tensor:name(),
      worker = worker,
      value = judgement.value,
      threshold = 0,
      message = judgement.found,
    }
  end
  rule:explain {
    tensor = tensor:name(),
    worker = worker,
    read = judgement.read,
    compared = judgement.found,
  }
end

return cupel.rule {
  name = "ExplodingTensor",
  summary = "NaN or infinities in a tensor",
  params = {
    collection_names = { default = {}, help = "collections to look at" },
    tensor_regex = { default = {}, help = "patterns of tensors to look at" },
    only_nan = { default = false, help = "whether infinities are fine" },
  },
  needs = function(params)
    return {
      collections = params.collection_names,
      patterns = params.tensor_regex,
      suffices = { "counts", { "min", "max" }, "abs_max", "raw" },
      spares = SUMS,
    }
  end,

  invoke_at_step = function(self, trial, step)
    local params = self.params
    -- Leaves of trees have no threshold: NaN in trees/Split is no mistake.
    local judges_trees = #params.collection_names > 0 or #params.tensor_regex > 0
    for name, worker in trial:each {
      step = step, collection = params.collection_names, regex = params.tensor_regex,
    } do
      if judges_trees or name:sub(1, 6) ~= "trees/" then
        report(self, trial:tensor(name), step, worker)
      end
    end
  end,
}

-- WeightUpdateRatio: weights change too much or too little between two saved steps:
--
--   ratio = |W - P| / (|P| + epsilon)
--
-- where P is the weights at an earlier step, of the same worker, and |.| the Euclidean norm of all
-- elements. Without num_steps, P is what was saved last before W; with it, the earliest save at
-- most num_steps steps before. The steps are those of TRAIN if the run has any, else all of them.
--
-- Where the norms of both were saved, they bound the ratio from both sides, and often settle it:
--
--   | |W| - |P| | <= |W - P| <= |W| + |P|

-- A saved norm is right to about 1e-15; bounds must stay true though it was rounded.
local ROUNDING = 1e-13

local function is_finite(x) return x == x and x ~= math.huge and x ~= -math.huge end
local function step_text(number, mode)
  return (mode == "GLOBAL" and "" or mode .. " ") .. "step " .. number
end

local function judged_mode(trial)
  for _, mode in ipairs(trial:modes()) do
    if mode == "TRAIN" then return "TRAIN" end
  end
  return "GLOBAL"
end

local function same_shape(a, b)
  if a == nil or b == nil then return a == b end
  if #a ~= #b then return false end
  for i = 1, #a do
    if a[i] ~= b[i] then return false end
  end
  return true
end

-- What is kept of a worker's weights at a step: the number of the step in the mode that is judged,
-- the global one, and what of the weights was saved.
local function saved_at(tensor, step, worker, mode)
  local record = tensor:record(step, { worker = worker })
  return {
    number = mode == "GLOBAL" and step or record.mode_step,
    step = step,
    has_value = record.has_value,
    l2 = tensor:reduction_value(step, "l2", { worker = worker, saved = true }),
    dtype = record.dtype,
    elements = record.elements,
    shape = record.shape,
  }
end

local function history_of(self, name, worker)
  local of_workers = self.histories[name]
  if not of_workers then
    of_workers = {}
    self.histories[name] = of_workers
  end
  of_workers[worker] = of_workers[worker] or {}
  return of_workers[worker]
end

-- Takes a step in, and drops what no later one will be compared with.
local function remember(self, history, now)
  if now.dtype == "utf8" or not now.has_value and not now.l2 then return end
  local num_steps = self.params.num_steps
  local kept = {}
  for _, saved in ipairs(history) do
    local is_covered
    if saved.number >= now.number then
      is_covered = true -- training has gone back
    elseif num_steps then
      is_covered = saved.number < now.number - num_steps
    else
      -- All that is needed is the last step of either kind.
      is_covered = (now.has_value or not saved.has_value) and (now.l2 or not saved.l2)
    end
    if not is_covered then kept[#kept + 1] = saved end
  end
  kept[#kept + 1] = now
  table.move(kept, 1, math.max(#kept, #history), 1, history)
end

-- The step to compare with: of those with a value for what has one, else of those with a norm.
local function partner_of(history, now, num_steps)
  local found
  for _, saved in ipairs(history) do
    local suits = saved.l2
    if now.has_value then suits = saved.has_value end
    if suits and saved.number < now.number then
      if not num_steps then
        found = saved
      elseif saved.number >= now.number - num_steps then
        return saved
      end
    end
  end
  return found
end

-- A judgement is {fired =, value =, threshold =, read =, compared =, message =}; one that says why
-- the weights cannot be judged is {skipped =}.

-- By the norms in the index; nil where they leave it open.
local function judge_norms(params, now, before, since)
  if not now.l2 or not before.l2 then return nil end
  local denominator = before.l2 + params.epsilon
  local rounding = ROUNDING * (now.l2 + before.l2)
  local least = (math.abs(now.l2 - before.l2) - rounding) / denominator
  local most = (now.l2 + before.l2 + rounding) / denominator
  local judgement = { value = least, threshold = params.large_threshold }
  judgement.read = "l2 (saved), bounds of the ratio"
  if least > params.large_threshold and is_finite(least) then
    if not same_shape(now.shape, before.shape) then return { skipped = "other shape" } end
    judgement.fired = true
    judgement.compared = cupel.comparison(least, ">", params.large_threshold)
    judgement.message = "update ratio at least " .. judgement.compared .. since
    return judgement
  end
  if least >= params.small_threshold and most <= params.large_threshold then
    judgement.compared = cupel.text(params.small_threshold) .. " <= " .. cupel.text(least)
      .. " ... " .. cupel.text(most) .. " <= " .. cupel.text(params.large_threshold)
    return judgement
  end
  return nil
end

-- The raw value, or nil and why it cannot be read.
local function value_at(tensor, step, worker)
  local is_there, value = pcall(tensor.value, tensor, step, { worker = worker })
  if is_there then return value end
  -- What is no missing value is an error of the rule.
  if value.kind ~= "TensorUnavailableForStep" then error(value, 0) end
  return nil, value.message
end

local function judge_values(params, value, earlier, since)
  local ratio = (value - earlier):norm() / (earlier:norm() + params.epsilon)
  local large, small = ratio > params.large_threshold, ratio < params.small_threshold
  local compared = {}
  if not small then compared[1] = cupel.comparison(ratio, ">", params.large_threshold) end
  if not large then
    compared[#compared + 1] = cupel.comparison(ratio, "<", params.small_threshold)
  end
  local text = table.concat(compared, ", ")
  return {
    fired = large or small,
    value = ratio,
    threshold = small and params.small_threshold or params.large_threshold,
    read = "the change (from raw)",
    compared = text,
    message = "update ratio " .. text .. since,
  }
end

local function judge(self, tensor, now, worker, history, mode)
  local params = self.params
  if now.dtype == "utf8" then return { skipped = "text is no numbers" } end
  if now.elements == 0 then return { skipped = "the tensor is empty" } end
  if not now.has_value and not now.l2 then
    return { skipped = "neither the raw value nor l2 was saved" }
  end
  local before = partner_of(history, now, params.num_steps)
  if not before then
    if #history == 0 then
      return { remembered = true, read = "nothing", compared = "the first saved step" }
    end
    local where = params.num_steps and "in the " .. params.num_steps .. " steps before "
      or "before "
    where = where .. step_text(now.number, mode)
    return { skipped = "nothing to compare with was saved " .. where }
  end
  local other_shape = "its shape is not the one of " .. step_text(before.number, mode)
  if before.elements ~= now.elements then return { skipped = other_shape } end
  local since = " since " .. step_text(before.number, mode)
  local judgement = judge_norms(params, now, before, since)
  if judgement then
    if judgement.skipped then judgement.skipped = other_shape end
    return judgement
  end
  if not now.has_value then
    return { skipped = "the raw value was not saved, and l2 leaves the ratio open" }
  end
  local value, why_not = value_at(tensor, now.step, worker)
  if not value then return { skipped = why_not } end
  -- What the hook counted spares looking at every element.
  local counts = tensor:counts(now.step, { worker = worker }) or value:counts()
  if counts.nan > 0 then self:saw_nan() end
  local earlier
  earlier, why_not = value_at(tensor, before.step, worker)
  if not earlier then return { skipped = why_not } end
  if not same_shape(value.shape, earlier.shape) then return { skipped = other_shape } end
  return judge_values(params, value, earlier, since)
end

-- Begins anew, with the steps before this one: with --start-step there may be some, and so far only
-- those of another mode may have been judged.
local function look_back(self, trial, step, mode)
  self.mode, self.histories = mode, {}
  for _, earlier in ipairs(trial:steps(mode)) do
    local global = trial:global_step(mode, earlier)
    if global >= step then break end
    for name, worker in trial:each { step = global, collection = "weights" } do
      local now = saved_at(trial:tensor(name), global, worker, mode)
      remember(self, history_of(self, name, worker), now)
    end
  end
end

return cupel.rule {
  name = "WeightUpdateRatio",
  summary = "weights change too much or too little",
  params = {
    num_steps = {
      kind = "int",
      at_least = 1,
      help = "compare with the earliest weights saved at most so many steps before; default: with "
        .. "the latest saved before",
    },
    large_threshold = { default = 10.0, at_least = 0, help = "fires when the ratio is above this" },
    small_threshold = { default = 1e-8, at_least = 0, help = "fires when the ratio is below this" },
    epsilon = { default = 1e-9, above = 0, help = "added to the norm of the earlier weights" },
  },
  needs = function(params)
    return {
      collections = { "weights" },
      raw = true,
      reductions = { "l2" },
      modes = { "TRAIN", "GLOBAL" },
      steps = 2,
      every = params.num_steps,
    }
  end,

  invoke_at_step = function(self, trial, step)
    local mode = judged_mode(trial)
    if mode ~= "GLOBAL" and trial:mode(step) ~= mode then
      self:not_applicable("the rule judges the steps of " .. mode .. ", and this is one of "
        .. trial:mode(step))
      return
    end
    if self.mode ~= mode then look_back(self, trial, step, mode) end
    local remembered, judged = false, false
    for name, worker in trial:each { step = step, collection = "weights" } do
      local tensor, history = trial:tensor(name), history_of(self, name, worker)
      local now = saved_at(tensor, step, worker, mode)
      local judgement = judge(self, tensor, now, worker, history, mode)
      if judgement.skipped then
        self:skip { tensor = name, worker = worker, reason = judgement.skipped }
      else
        if judgement.remembered then remembered = true else judged = true end
        if judgement.fired then
          self:issue {
            tensor = name,
            worker = worker,
            value = judgement.value,
            threshold = judgement.threshold,
            message = judgement.message,
          }
        end
        self:explain {
          tensor = name,
          worker = worker,
          read = judgement.read,
          compared = judgement.compared,
        }
      end
      remember(self, history, now)
    end
    if remembered and not judged then self:only_remembered() end
  end,
}

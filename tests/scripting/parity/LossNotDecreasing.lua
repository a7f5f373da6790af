-- LossNotDecreasing: every num_steps steps or more, a loss L is compared with P, the latest one
-- saved at least num_steps steps before:
--
--   L <= P:  100 * (P - L) / |P| < diff_percent fires
--   L > P:   100 * (L - B) / |B| > increase_threshold_percent fires
--   L is NaN or infinite: fires
--
-- where B is the lowest loss that was compared with so far, so that slow growth is found, too.
-- Steps are counted in the mode that is judged. Of what is no scalar the mean counts, and of
-- several workers theirs.

-- Mode by mode, the first that a loss was saved in is judged.
local PREFERRED = { "EVAL", "TRAIN", "GLOBAL" }

local function is_finite(x) return x == x and x ~= math.huge and x ~= -math.huge end
-- The number that percentages are of.
local function percentage_base(x) return x == 0 and 1e-12 or math.abs(x) end
local function step_text(number, mode)
  return (mode == "GLOBAL" and "" or mode .. " ") .. "step " .. number
end

-- One loss over the steps of one mode: `points` are those that are still to be compared with.
local function new_series() return { points = {}, last_check = nil, best = math.huge } end

local function add_point(series, number, loss, num_steps)
  local points = series.points
  while #points > 0 and points[#points].number >= number do points[#points] = nil end
  points[#points + 1] = { number = number, loss = loss }
  -- No later step will be compared with those before the latest that is far enough.
  while #points > 1 and points[2].number <= number - num_steps do table.remove(points, 1) end
end

-- What the newest step is compared with, if it is time.
local function partner_of(series, num_steps)
  local points = series.points
  local now = points[#points].number
  if points[1].number > now - num_steps then return nil end
  if series.last_check and now - series.last_check < num_steps then return nil end
  return points[1]
end

local function collections_of(params)
  local names = { table.unpack(params.collection_names) }
  if not params.use_losses_collection then return names end
  for _, name in ipairs(names) do
    if name == "losses" then return names end
  end
  names[#names + 1] = "losses"
  return names
end

-- The losses of a step, by name: the mean of each over its workers.
local function losses_at(trial, step, chosen)
  local losses = {}
  chosen.step, chosen.reductions = step, { "mean" }
  for name, worker, mean in trial:each(chosen) do
    local loss = losses[#losses]
    if not loss or loss.name ~= name then
      loss = { name = name, worker = worker, value = 0, workers = 0 }
      losses[#losses + 1] = loss
    end
    loss.value = loss.value + mean
    loss.workers = loss.workers + 1
  end
  for _, loss in ipairs(losses) do loss.value = loss.value / loss.workers end
  return losses
end

-- A comparison is {fired =, value =, threshold =, compared =, message =}.
local function compare(params, series, before, mode, loss)
  local since = ", from " .. cupel.text(before.loss) .. " at " .. step_text(before.number, mode)
  if not is_finite(loss) then
    return {
      fired = true,
      value = loss,
      threshold = params.diff_percent,
      compared = "not finite",
      message = "the loss is " .. cupel.text(loss) .. since,
    }
  end
  if loss <= before.loss then
    local decrease = 100 * (before.loss - loss) / percentage_base(before.loss)
    local compared = cupel.comparison(decrease, "<", params.diff_percent)
    return {
      fired = decrease < params.diff_percent and before.loss ~= 0,
      value = decrease,
      threshold = params.diff_percent,
      compared = "decrease " .. compared,
      message = "decrease in percent " .. compared .. since .. " to " .. cupel.text(loss),
    }
  end
  local most = params.increase_threshold_percent
  local increase = 100 * (loss - series.best) / percentage_base(series.best)
  local compared = cupel.comparison(increase, ">", most)
  return {
    fired = increase > most,
    value = increase,
    threshold = most,
    compared = "increase " .. compared,
    message = "increase in percent " .. compared .. ", from the lowest, " .. cupel.text(series.best)
      .. ", to " .. cupel.text(loss),
  }
end

local function mode_of(self, by_mode)
  if self.params.mode ~= "" then return self.params.mode end
  for _, mode in ipairs(PREFERRED) do
    if by_mode[mode] then return mode end
  end
end

-- Takes in a loss of a step, and returns the comparison that is due, or nil and why there is none.
local function take(self, trial, step, loss)
  local num_steps = self.params.num_steps
  local by_mode = self.losses[loss.name]
  if not by_mode then
    by_mode = {}
    self.losses[loss.name] = by_mode
  end
  local step_mode = trial:mode(step)
  for mode, number in pairs { GLOBAL = step, [step_mode] = trial:mode_step(step) } do
    by_mode[mode] = by_mode[mode] or new_series()
    add_point(by_mode[mode], number, loss.value, num_steps)
  end
  local mode = mode_of(self, by_mode)
  if mode ~= "GLOBAL" and mode ~= step_mode then return nil, "not a step of " .. mode end
  local series = by_mode[mode]
  local before = partner_of(series, num_steps)
  if not before then return nil, "no check is due" end
  series.last_check = series.points[#series.points].number
  if before.loss < series.best then series.best = before.loss end
  return compare(self.params, series, before, mode, loss.value)
end

-- In the words of the built-in rule: of several workers one reading stands for all.
local function explain(self, trial, step, loss, compared)
  local tensor, from = trial:tensor(loss.name), { worker = loss.worker, saved = true }
  local mean, origin = tensor:reduction_value(step, "mean", from)
  if not mean then origin = "mean (from raw)" end
  if loss.workers > 1 then origin = origin .. ", mean of " .. loss.workers .. " workers" end
  self:explain { tensor = loss.name, worker = loss.worker, read = origin, compared = compared }
end

return cupel.rule {
  name = "LossNotDecreasing",
  summary = "a loss does not go down",
  params = {
    collection_names = { default = {}, help = "collections whose tensors are losses, too" },
    tensor_regex = { default = {}, help = "patterns of tensors that are losses, too" },
    use_losses_collection = { default = true, help = "whether the collection losses is looked at" },
    num_steps = { default = 10, at_least = 1, help = "how many steps lie between two checks" },
    diff_percent = {
      default = 0.1,
      above = 0,
      below = 100,
      help = "fires when a loss fell by less than so many percent",
    },
    increase_threshold_percent = {
      default = 5.0,
      above = 0,
      below = 100,
      help = "fires when it rose to so many percent above the lowest",
    },
    mode = {
      default = "",
      one_of = PREFERRED,
      help = "EVAL, TRAIN or GLOBAL (all steps); default: the first that a loss has",
    },
  },
  needs = function(params)
    local collections = collections_of(params)
    if #collections == 0 and #params.tensor_regex == 0 then
      error("which losses to look at is not given; collection_names or tensor_regex says it, or "
        .. "use_losses_collection=True")
    end
    return {
      collections = collections,
      patterns = params.tensor_regex,
      reductions = { "mean" },
      modes = params.mode == "" and PREFERRED or { params.mode },
      steps = 2,
    }
  end,

  invoke_at_step = function(self, trial, step)
    local chosen = { collection = collections_of(self.params), regex = self.params.tensor_regex }
    if not self.losses then
      self.losses = {}
      -- With --start-step there are steps before the first one that is judged.
      for _, earlier in ipairs(trial:steps()) do
        if earlier >= step then break end
        for _, loss in ipairs(losses_at(trial, earlier, chosen)) do
          take(self, trial, earlier, loss)
        end
      end
    end
    local remembered, judged = false, false
    for _, loss in ipairs(losses_at(trial, step, chosen)) do
      local found, why_not = take(self, trial, step, loss)
      if found then judged = true else remembered = true end
      if found and found.fired then
        self:issue {
          tensor = loss.name,
          worker = loss.worker,
          value = found.value,
          threshold = found.threshold,
          message = found.message,
        }
      end
      if self:explaining() then
        explain(self, trial, step, loss, found and found.compared or why_not)
      end
    end
    if remembered and not judged then self:only_remembered() end
  end,
}

-- stopped by: nothing
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    local loss = trial:tensor("loss")
    for _, at in ipairs{-1, math.mininteger, math.maxinteger, 1 << 40, 1e300, 0 / 0, 2.5, "1", {}} do
      for _, method in ipairs{"mode", "mode_step", "missing_workers"} do
        pcall(trial[method], trial, at)
      end
      pcall(trial.global_step, trial, "TRAIN", at)
      pcall(trial.tensor_names, trial, {step = at})
      pcall(trial.each, trial, {step = at})
      for _, method in ipairs{"value", "reduction_values", "shape", "counts", "record", "workers"} do
        pcall(loss[method], loss, at)
      end
      pcall(loss.reduction_value, loss, at, "mean")
      pcall(loss.prev_steps, loss, at, math.maxinteger)
      pcall(loss.prev_steps, loss, at, at)
    end
  end,
}

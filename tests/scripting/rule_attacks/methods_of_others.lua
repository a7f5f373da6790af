-- stopped by: nothing
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    local tensor = trial:tensor("loss")
    local value = tensor:value(step)
    local wrong = {trial, tensor, value, self, 1, "x", print, coroutine.create(print), false}
    for _, name in ipairs{"steps", "tensor", "tensor_names", "each", "collection", "name"} do
      for _, object in ipairs(wrong) do
        if object ~= trial then pcall(trial[name], object, "loss") end
      end
      pcall(trial[name])
    end
    for _, name in ipairs{"value", "steps", "reduction_value", "shape", "name"} do
      for _, object in ipairs(wrong) do
        if object ~= tensor then pcall(tensor[name], object, step, "mean") end
      end
    end
    for _, name in ipairs{"abs", "norm", "to_table", "slice", "dot"} do
      for _, object in ipairs(wrong) do pcall(value[name], object, object, object) end
    end
    for _, name in ipairs{"skip", "issue", "explain", "not_applicable", "ask_again"} do
      for _, object in ipairs(wrong) do pcall(self[name], object, object) end
    end
  end,
}

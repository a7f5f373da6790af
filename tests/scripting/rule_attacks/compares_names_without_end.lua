-- stopped by: instructions
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    while true do pcall(function() return trial.tensor_namse end) end
  end,
}

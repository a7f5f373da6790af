-- stopped by: error
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    local patterns = {}
    local long = ("x"):rep(1e6)
    for i = 1, 10000 do patterns[i] = long end
    trial:tensor_names{regex = patterns}
  end,
}

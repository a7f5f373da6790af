-- stopped by: error
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    local patterns = {}
    for i = 1, 10000 do patterns[i] = "(?:a{1,100}){1,10}" .. i end
    trial:tensor_names{regex = patterns}
  end,
}

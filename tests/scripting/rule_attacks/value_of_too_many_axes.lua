-- stopped by: error
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    local shape = {}
    for i = 1, 1000 do shape[i] = 1 end
    cupel.zeros(shape)
  end,
}

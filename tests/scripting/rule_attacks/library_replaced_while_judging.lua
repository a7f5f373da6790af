-- stopped by: nothing
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    string.format = nil
    table.unpack = error
    cupel.comparison = error
    math.floor = nil
    coroutine.wrap = nil
  end,
}

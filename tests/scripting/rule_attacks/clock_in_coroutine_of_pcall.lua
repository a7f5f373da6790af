-- stopped by: clock
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    coroutine.wrap(function()
      pcall(function() while true do pcall(error) end end)
    end)()
  end,
}

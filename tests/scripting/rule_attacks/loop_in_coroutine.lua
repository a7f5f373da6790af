-- stopped by: instructions
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    coroutine.wrap(function() while true do end end)()
  end,
}

-- stopped by: instructions
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    self.go_on = self.go_on or coroutine.wrap(function()
      for i = 1, 3 do coroutine.yield(i) end
      while true do end
    end)
    self.go_on()
  end,
}

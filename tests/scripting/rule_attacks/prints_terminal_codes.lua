-- stopped by: nothing
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    print("\27[2J\0\r\n" .. string.char(255), self, trial, print)
  end,
}

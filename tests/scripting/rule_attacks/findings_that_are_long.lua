-- stopped by: nothing
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    local long = ("x"):rep(1e6)
    for i = 1, 2000 do
      self:issue{tensor = long, worker = long, value = i, threshold = -i, message = long}
    end
  end,
}

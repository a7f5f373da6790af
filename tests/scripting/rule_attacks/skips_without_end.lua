-- stopped by: memory
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    local long = ("x"):rep(1000)
    while true do self:skip{tensor = long, worker = long, reason = long} end
  end,
}

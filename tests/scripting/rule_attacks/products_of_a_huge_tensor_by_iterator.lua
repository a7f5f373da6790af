-- stopped by: clock
-- run: huge
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    if step < 4 then return end
    while true do
      for _ in trial:each{step = step, regex = "^bytes$", reductions = {"prod"}} do end
    end
  end,
}

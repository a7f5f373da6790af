-- stopped by: memory
-- run: huge
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    if step == 4 then trial:tensor("long text"):value(step) end
  end,
}

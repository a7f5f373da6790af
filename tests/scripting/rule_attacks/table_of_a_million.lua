-- stopped by: error
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    return trial:tensor("large"):value(step):to_table(1 << 40)
  end,
}

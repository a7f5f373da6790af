-- stopped by: allow-list
-- at: load
-- at: load
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    os.execute("touch made_by_attack.txt")
  end,
}

-- stopped by: allow-list
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    _G.os.execute("touch made_by_attack.txt")
  end,
}

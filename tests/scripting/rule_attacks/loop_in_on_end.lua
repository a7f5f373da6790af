-- stopped by: instructions
-- at: on_end
return cupel.rule {
  name = "Attack",
  on_end = function(self)
    while true do end
  end,
  invoke_at_step = function(self, trial, step) end,
}

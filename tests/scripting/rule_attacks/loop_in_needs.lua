-- stopped by: instructions
-- at: needs
return cupel.rule {
  name = "Attack",
  needs = function(params)
    while true do end
  end,
  invoke_at_step = function(self, trial, step) end,
}

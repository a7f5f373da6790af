-- stopped by: allow-list
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    _G.setmetatable(self, {__index = error})
  end,
}

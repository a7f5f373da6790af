-- stopped by: error
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    cupel.rule{name = "Other", invoke_at_step = function() while true do end end}
  end,
}

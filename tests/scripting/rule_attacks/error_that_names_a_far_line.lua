-- stopped by: error
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    error("attack.lua:9223372036854775807: look here", 0)
  end,
}

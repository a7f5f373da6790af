-- stopped by: error
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    local _ENV <const> = {}
    function A() A = {} end
    x = ~0.5
  end,
}

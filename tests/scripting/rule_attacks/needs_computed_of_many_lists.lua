-- stopped by: error
-- at: needs
return cupel.rule {
  name = "Attack",
  needs = function(params)
    local patterns = {("x"):rep(1e6)}
    local needs = {}
    for i = 1, 1000 do needs[i] = {patterns = patterns} end
    return needs
  end,
  invoke_at_step = function(self, trial, step) end,
}

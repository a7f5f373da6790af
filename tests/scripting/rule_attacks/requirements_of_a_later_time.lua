-- stopped by: nothing
-- at: required
return cupel.rule {
  name = "Attack",
  required = function(self, step, req)
    self.req = req
    req:add("loss", math.mininteger)
  end,
  invoke_at_step = function(self, trial, step) end,
}

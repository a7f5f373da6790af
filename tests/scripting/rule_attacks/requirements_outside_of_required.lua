-- stopped by: nothing
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    if self.req then pcall(self.req.add, self.req, "none", {1, 2, 3}) end
  end,
}

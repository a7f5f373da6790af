-- stopped by: nothing
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    for _, number in ipairs{0 / 0, 1 / 0, -1 / 0, -0.0, 1e308, math.mininteger} do
      self:issue{tensor = "\0\27[31m\n", value = number, threshold = number, message = "\255\0\r"}
    end
  end,
}

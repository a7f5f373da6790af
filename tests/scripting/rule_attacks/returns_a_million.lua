-- stopped by: nothing
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    local t = {}
    for i = 1, 90000 do t[i] = i end
    return nil, table.unpack(t)
  end,
}

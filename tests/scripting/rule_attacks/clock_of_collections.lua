-- stopped by: clock
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    local kept = {}
    for i = 1, 350000 do kept[i] = {} end
    while true do local text = ("x"):rep(10000) .. #kept end
  end,
}

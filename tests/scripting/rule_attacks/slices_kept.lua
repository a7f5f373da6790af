-- stopped by: memory
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    local large = trial:tensor("large"):value(step)
    local kept = {}
    while true do kept[#kept + 1] = large:reshape({512, 512})[#kept % 512 + 1] end
  end,
}

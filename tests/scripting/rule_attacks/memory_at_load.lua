-- stopped by: memory
-- at: load
local t = {}
while true do t[#t + 1] = {} end
return cupel.rule{name = "Attack", invoke_at_step = function(self, trial, step) end}

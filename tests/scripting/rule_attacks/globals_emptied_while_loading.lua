-- stopped by: nothing
-- at: load
local made = cupel.rule{name = "Attack", invoke_at_step = function() end}
local _ENV = {pairs = pairs, all = _G}
for name in pairs(all) do all[name] = nil end
return made

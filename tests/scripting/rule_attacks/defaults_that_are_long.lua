-- stopped by: error
-- at: load
local entries = {}
local long = ("x"):rep(1e6)
for i = 1, 1000 do entries[i] = long end
return cupel.rule{name = "Attack", params = {long = entries}, invoke_at_step = function() end}

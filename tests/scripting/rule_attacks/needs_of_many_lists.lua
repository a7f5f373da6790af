-- stopped by: error
-- at: load
local patterns = {("x"):rep(1e6)}
local needs = {}
for i = 1, 1000 do needs[i] = {patterns = patterns} end
return cupel.rule{name = "Attack", needs = needs, invoke_at_step = function() end}

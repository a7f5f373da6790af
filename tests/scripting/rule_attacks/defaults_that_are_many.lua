-- stopped by: error
-- at: load
local params = {}
for i = 1, 100 do params["p" .. i] = ("x"):rep(4000) end
return cupel.rule{name = "Attack", params = params, invoke_at_step = function() end}

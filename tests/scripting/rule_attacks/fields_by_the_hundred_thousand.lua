-- stopped by: error
-- at: load
local rule = {name = "Attack", invoke_at_step = function() end}
for i = 1, 100000 do rule["field" .. i] = i end
return cupel.rule(rule)

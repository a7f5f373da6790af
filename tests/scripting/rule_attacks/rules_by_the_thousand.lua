-- stopped by: error
-- at: load
local rules = {}
for i = 1, 1000 do rules[i] = cupel.rule{name = "R" .. i, invoke_at_step = print} end
return rules

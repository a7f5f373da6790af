-- stopped by: error
-- at: load
local nested = {}
for i = 1, 100000 do nested = {default = nested, suffices = nested, nested} end
return cupel.rule{name = "Attack", params = {a = nested, b = {default = nested}}, needs = nested,
                  invoke_at_step = function() end}

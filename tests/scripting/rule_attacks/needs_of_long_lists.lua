-- stopped by: error
-- at: load
local patterns = {}
local long = ("x"):rep(1e6)
for i = 1, 10000 do patterns[i] = long end
return cupel.rule{name = "Attack", needs = {patterns = patterns},
                  invoke_at_step = function() end}

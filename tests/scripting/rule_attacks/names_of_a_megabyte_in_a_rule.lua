-- stopped by: error
-- at: load
local long = ("x"):rep(1e6)
local params = {}
for i = 1, 60 do params["p" .. i] = {default = 1, [long .. i % 3] = long} end
return cupel.rule{name = long, summary = long, [long] = long, params = params,
                  needs = {[long] = 1, patterns = "(" .. long, modes = {long}, reductions = {long}},
                  invoke_at_step = function() end}

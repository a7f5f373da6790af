-- stopped by: error
-- at: load
local got = require("helper\0/../../canary")
print(got)
return cupel.rule{name = "Attack", invoke_at_step = function(self, trial, step) end}

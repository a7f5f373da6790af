-- stopped by: error
-- at: load
local got = require("/etc/passwd")
print(got)
return cupel.rule{name = "Attack", invoke_at_step = function(self, trial, step) end}

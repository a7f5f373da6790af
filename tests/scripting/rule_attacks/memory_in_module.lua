-- stopped by: memory
-- at: load
require("hungry")
return cupel.rule{name = "Attack", invoke_at_step = function(self, trial, step) end}

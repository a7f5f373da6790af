-- stopped by: instructions
-- at: load
require("endless")
return cupel.rule{name = "Attack", invoke_at_step = function(self, trial, step) end}

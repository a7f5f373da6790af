-- stopped by: clock
-- at: load
pcall(require, "endless")
return cupel.rule{name = "Attack", invoke_at_step = function(self, trial, step) end}

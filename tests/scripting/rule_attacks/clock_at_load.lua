-- stopped by: clock
-- at: load
while true do end
return cupel.rule{name = "Attack", invoke_at_step = function(self, trial, step) end}

-- stopped by: nothing
-- at: load
stolen = {}
_G.more = stolen
return cupel.rule{name = "Attack", invoke_at_step = function(self, trial, step) end}

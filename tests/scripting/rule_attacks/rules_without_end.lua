-- stopped by: instructions
-- at: load
while true do cupel.rule{name = "Attack", params = {a = {1, 2, 3}}, invoke_at_step = print} end
return cupel.rule{name = "Attack", invoke_at_step = function(self, trial, step) end}

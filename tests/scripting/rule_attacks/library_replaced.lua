-- stopped by: nothing
-- at: load
local made = cupel.rule{name = "Attack", invoke_at_step = function(self, trial, step)
  assert(string == nil and cupel == nil or true)
end}
string.format = nil
string.rep = error
table.sort = nil
cupel.rule = function() end
cupel.zeros = nil
math.random = nil
ipairs = error
pairs = error
print = error
require = error
return made

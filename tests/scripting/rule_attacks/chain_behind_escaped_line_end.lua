-- stopped by: error
-- at: load
local a = {} a.b = a
local x = "\
"; local y = a.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b -- "
return cupel.rule { name = 'Attack', invoke_at_step = function() end }

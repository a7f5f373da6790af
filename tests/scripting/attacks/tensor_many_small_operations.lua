-- stopped by: instructions
local v = cupel.zeros{1} while true do v = v + 1 end

-- stopped by: instructions
local v = cupel.zeros{100000, 0} while true do local s = v:count_nonzero{axis = 2} end

-- stopped by: error
local v = cupel.zeros{3} v[1] = 5

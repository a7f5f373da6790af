-- stopped by: error
local v = cupel.zeros{-1, -1}

-- stopped by: memory
local v = cupel.zeros{1 << 39, 0}:sum{axis = 2}

-- stopped by: memory
local v = cupel.zeros{1 << 35}

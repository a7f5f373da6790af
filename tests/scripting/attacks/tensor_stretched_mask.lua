-- stopped by: memory
local v = cupel.zeros({100000}, {dtype = "u8"}) local w = v:reshape(-1, 1):lt(v)

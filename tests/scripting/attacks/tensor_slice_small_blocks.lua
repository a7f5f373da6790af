-- stopped by: instructions
local v = cupel.zeros({2000000, 2}, {dtype = "u8"}):slice(2, 1, 1)

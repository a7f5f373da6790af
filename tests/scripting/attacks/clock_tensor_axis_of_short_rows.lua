-- stopped by: clock
local v = cupel.zeros({400000, 1}, {dtype = "u8"}) while true do local m = v:quantile(0.5, {axis = 2}) end

-- stopped by: clock
local v = cupel.zeros({2000000, 2}, {dtype = "u8"}) while true do local s = v:slice(2, 1, 1) end

-- stopped by: instructions
local v = cupel.zeros({500000}, {dtype = "u8"}) pcall(function() return v:exp() end) while true do end

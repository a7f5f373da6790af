-- stopped by: clock
local v = cupel.value(1.7e308, {shape = {200000}}) while true do local m = v % 1e-308 end

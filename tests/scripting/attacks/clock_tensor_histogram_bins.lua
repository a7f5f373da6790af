-- stopped by: clock
local v = cupel.value(1e300, {shape = {200000}}) while true do local h = v:histogram{bins = 10000, range = {-1.7e308, 1.7e308}} end

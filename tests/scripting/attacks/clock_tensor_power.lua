-- stopped by: clock
local v = cupel.value(1.0000001, {shape = {200000}}) while true do local m = v ^ 1e9 end

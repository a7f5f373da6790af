-- stopped by: clock
local m = cupel.value(true, {shape = {2000000}}) while true do local t, n = m:indices(10) end

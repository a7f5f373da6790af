-- stopped by: clock
local m = cupel.zeros{400000}:eq(1) local t = cupel.value({}, {dtype = "utf8"}) while true do local n = m:indices(1) end

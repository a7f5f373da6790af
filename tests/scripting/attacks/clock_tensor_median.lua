-- stopped by: clock
local v = cupel.value(1, {shape = {150000}}) % 0.3 while true do local m = (v + 1):median() end

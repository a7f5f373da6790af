-- stopped by: instructions
local t = {} for i = 1, 20000 do t[i] = i end for i = 1, 20000 do t[i] = nil end local v = cupel.zeros{1} while true do local s = v:sum(t) end

-- stopped by: memory
local t = {} for i = 1, 1e9 do t[i] = cupel.value(i) end

-- stopped by: memory
local v, t = cupel.zeros{10}, {} for i = 1, 1e9 do t[i] = v:slice(1, 1, 0) end

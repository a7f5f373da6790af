-- stopped by: memory
local v, t = cupel.zeros{10000}, {} for i = 1, 1e9 do t[i] = v:to_table() end

-- stopped by: memory
local v, t = cupel.zeros{1}, {} for i = 1, 1e9 do t[i] = v:histogram{bins = 1000} end

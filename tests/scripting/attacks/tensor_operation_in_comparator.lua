-- stopped by: instructions
local v = cupel.zeros{10000} local t = {} for i = 1, 1000 do t[i] = i end table.sort(t, function(a, b) local s = (v + a):sum() return a < b end)

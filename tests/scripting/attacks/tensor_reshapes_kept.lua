-- stopped by: memory
local v = cupel.zeros{1} local t = {} for i = 1, 1e9 do t[i] = v:reshape(table.unpack({1, 1, 1, 1, 1, 1, 1, 1})) end

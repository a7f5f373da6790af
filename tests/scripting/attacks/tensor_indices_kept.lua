-- stopped by: memory
local m, t = cupel.value(true, {shape = {100000}}), {} for i = 1, 1e9 do t[i] = m:indices(1000000) end

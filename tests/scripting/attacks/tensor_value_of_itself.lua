-- stopped by: error
local t = {} t[1] = t return cupel.value(t)

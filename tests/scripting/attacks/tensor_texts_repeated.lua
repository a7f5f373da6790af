-- stopped by: memory
local s, t = ("x"):rep(1000000), {} for i = 1, 1000 do t[i] = s end return cupel.value(t)

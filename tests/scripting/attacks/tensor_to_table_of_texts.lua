-- stopped by: memory
local s, t = ("x"):rep(1000), {} for i = 1, 1000 do t[i] = s .. i end local v = cupel.value(t) local k = {} for i = 1, 1e9 do k[i] = v:to_table() v = v:reshape(-1) end

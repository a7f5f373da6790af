-- stopped by: error
local s = ("x"):rep(100000)
local t = {}
for i = 1, 100 do t[i] = s end
return table.concat(t)

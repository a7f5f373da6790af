-- stopped by: memory
local t = {}
for i = 1, 1e6 do t[i] = ('x'):rep(1000) .. i end

-- stopped by: instructions
local t = {}
for i = 1, 20000 do t[i] = i end
table.sort(t, function() return true end)

-- stopped by: instructions
local t = {3, 2, 1}
table.sort(t, function(a, b) for i = 1, 1000 do t[#t + 1] = 1; t[#t] = nil end return true end)
while true do table.sort(t, function() return true end) end

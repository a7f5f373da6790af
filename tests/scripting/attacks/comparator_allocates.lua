-- stopped by: memory
local t = {}
table.sort({4, 3, 2, 1}, function() while true do t[#t + 1] = {} end end)

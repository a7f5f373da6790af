-- stopped by: memory
local t = {}
("xxx"):gsub("x", function() while true do t[#t + 1] = {} end end)

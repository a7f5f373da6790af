-- stopped by: memory
local t = {}
while true do pcall(function() t[#t + 1] = ('x'):rep(500000) .. #t end) end

-- stopped by: memory
local t = {} while true do pcall(function() t[#t + 1] = cupel.zeros{1000} end) end

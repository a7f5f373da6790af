-- stopped by: memory
local t = {}
local function grow() while true do t[#t + 1] = {t} end end
while true do pcall(grow) end

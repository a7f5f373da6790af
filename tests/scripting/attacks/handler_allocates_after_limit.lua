-- stopped by: memory
local t = {}
local function grow() while true do t[#t + 1] = {} end end
xpcall(grow, grow)

-- stopped by: clock
local t = {}
for i = 1, 30000 do t["k" .. i] = i end
while true do pairs(t) end

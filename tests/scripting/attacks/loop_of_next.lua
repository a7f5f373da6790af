-- stopped by: instructions
local t = {}
for i = 1, 1000 do t[i] = i end
while true do next(t) end

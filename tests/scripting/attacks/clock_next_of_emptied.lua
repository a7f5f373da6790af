-- stopped by: clock
local t = {}
for i = 1, 100000 do t[i * 7] = true end
for i = 1, 100000 do t[i * 7] = nil end
while true do next(t) end

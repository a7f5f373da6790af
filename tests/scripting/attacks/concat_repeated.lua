-- stopped by: instructions
local t = {}
for i = 1, 10000 do t[i] = "x" end
while true do table.concat(t) end

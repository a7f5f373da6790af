-- stopped by: clock
local t = {}
for i = 1, 60000 do t[i] = i end
local function f(...) while true do local u = {...} end end
f(table.unpack(t))

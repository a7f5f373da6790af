-- stopped by: clock
local t = {}
for i = 1, 90000 do t[i] = i end
local function g(...) end
local function f(...) while true do g(...) end end
f(table.unpack(t))

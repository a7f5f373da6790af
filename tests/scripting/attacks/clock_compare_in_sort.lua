-- stopped by: clock
local a = ("\0"):rep(1000000)
local t = {}
for i = 1, 3 do t[i] = a .. i end
while true do table.sort(t) end

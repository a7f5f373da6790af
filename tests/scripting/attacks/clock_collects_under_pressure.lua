-- stopped by: clock
local kept = {}
for i = 1, 60000 do kept[i] = {i} end
while true do local s = ("x"):rep(100000) .. "y" end

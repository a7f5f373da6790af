-- stopped by: clock
local a = ("1"):rep(1000000)
while true do tonumber(a) end

-- stopped by: clock
local a, b = ("x"):rep(1000000), ("x"):rep(1000000)
while true do local c = a == b end

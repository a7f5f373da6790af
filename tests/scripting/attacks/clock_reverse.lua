-- stopped by: clock
local a = ("x"):rep(1000000)
while true do a:reverse() end

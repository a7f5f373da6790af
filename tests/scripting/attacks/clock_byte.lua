-- stopped by: clock
local a = ("x"):rep(90000)
while true do a:byte(1, -1) end

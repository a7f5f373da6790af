-- stopped by: clock
local a = ("x"):rep(500000)
while true do local b = a .. a end

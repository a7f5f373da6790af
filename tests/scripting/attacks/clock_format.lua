-- stopped by: clock
local a = ("x"):rep(300000)
while true do local s = ("%s%s%s"):format(a, a, a) end

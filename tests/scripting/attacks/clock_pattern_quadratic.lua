-- stopped by: clock
local a = ("a"):rep(1000000)
while true do a:find("a*b") end

-- stopped by: clock
local a = ("é"):rep(500000)
while true do a:find("\\w*\\d") end

-- stopped by: clock
local a = ("é"):rep(500000)
while true do utf8.len(a) end

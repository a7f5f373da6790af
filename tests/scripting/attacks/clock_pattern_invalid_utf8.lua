-- stopped by: clock
local a = ("\255a"):rep(500000)
while true do a:gsub("a", "b") end

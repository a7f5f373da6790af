-- stopped by: clock
local a = ("x"):rep(100000)
while true do a:gsub("x", function() return "y" end) end

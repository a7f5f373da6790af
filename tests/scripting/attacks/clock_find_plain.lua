-- stopped by: clock
local a = ("a"):rep(1000000)
local b = ("a"):rep(500000) .. "b"
while true do a:find(b, 1, true) end

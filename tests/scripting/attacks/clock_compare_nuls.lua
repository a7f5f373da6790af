-- stopped by: clock
local a, b = ("\0"):rep(1000000) .. "a", ("\0"):rep(1000000) .. "b"
while true do local x = a < b end

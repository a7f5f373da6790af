-- stopped by: clock
local v = cupel.value{("x"):rep(1000000), ("x"):rep(1000000)} local w = v:slice(1, 1, -1) while true do local e = v == w end

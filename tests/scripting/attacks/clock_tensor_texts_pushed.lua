-- stopped by: clock
local v = cupel.value{("x"):rep(1000000)} while true do local s = v[1] end

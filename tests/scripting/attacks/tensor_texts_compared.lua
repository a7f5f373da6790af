-- stopped by: instructions
local v = cupel.value{("x"):rep(1000000), ("x"):rep(1000000)} while true do local e = v:eq(v) end

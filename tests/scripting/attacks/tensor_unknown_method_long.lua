-- stopped by: error
local v = cupel.zeros{1} return v[("x"):rep(1000000)]

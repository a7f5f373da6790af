-- stopped by: memory
local v = cupel.zeros{1024} while true do v = (v:reshape(-1, 1) + cupel.zeros{1, 2}):flatten() end

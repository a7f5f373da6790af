-- stopped by: instructions
local v = cupel.zeros{1} while true do local h = v:histogram{bins = 10000} end

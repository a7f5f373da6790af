-- stopped by: instructions
local v = cupel.zeros{1} while true do pcall(function() return v.meen end) end

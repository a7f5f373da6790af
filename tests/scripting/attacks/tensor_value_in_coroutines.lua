-- stopped by: instructions
local v = cupel.zeros{1000} while true do coroutine.wrap(function() return v:sum{axis = 1} end)() end

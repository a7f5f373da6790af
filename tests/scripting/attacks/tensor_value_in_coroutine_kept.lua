-- stopped by: memory
local t = {} for i = 1, 1e9 do t[i] = coroutine.wrap(function() local v = cupel.zeros{1000} coroutine.yield() return v end) t[i]() end

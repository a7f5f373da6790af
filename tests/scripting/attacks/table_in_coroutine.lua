-- stopped by: memory
local t = {}
coroutine.wrap(function() while true do t[#t + 1] = {} end end)()

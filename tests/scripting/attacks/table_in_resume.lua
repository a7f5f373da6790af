-- stopped by: memory
local t = {}
while true do coroutine.resume(coroutine.create(function() while true do t[#t + 1] = {} end end)) end

-- stopped by: instructions
local c = coroutine.wrap(function() while true do pcall(function() while true do coroutine.yield() end end) end end)
while true do pcall(c) end

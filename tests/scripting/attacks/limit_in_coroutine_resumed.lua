-- stopped by: instructions
local c = coroutine.create(function() while true do end end)
while true do pcall(coroutine.resume, c) end

-- stopped by: instructions
while true do coroutine.wrap(function() end)() end

-- stopped by: instructions
coroutine.wrap(function() while true do end end)()

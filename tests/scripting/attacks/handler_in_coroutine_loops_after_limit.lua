-- stopped by: instructions
coroutine.wrap(function() xpcall(function() while true do end end, function() while true do end end) end)()
while true do end

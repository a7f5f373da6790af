-- stopped by: error
coroutine.wrap(function() ("x"):gsub("x", coroutine.yield) end)()

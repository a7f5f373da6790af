-- stopped by: error
coroutine.wrap(function() xpcall(error, coroutine.yield) error("handled", 0) end)()

-- stopped by: error
coroutine.wrap(function() table.sort({3, 2, 1}, coroutine.yield) end)()

-- stopped by: error
coroutine.yield(1)

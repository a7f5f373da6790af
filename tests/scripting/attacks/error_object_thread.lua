-- stopped by: error
error(coroutine.create(print))

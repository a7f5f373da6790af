-- stopped by: error
local ok, what = coroutine.resume((coroutine.running()))
error(what, 0)

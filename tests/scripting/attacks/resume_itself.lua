-- stopped by: error
local c
c = coroutine.create(function() return coroutine.resume(c) end)
local ok, inner, what = coroutine.resume(c)
error(what, 0)

-- stopped by: error
local w
w = coroutine.wrap(function() return w() end)
return w()

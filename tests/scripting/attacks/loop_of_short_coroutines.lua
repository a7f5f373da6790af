-- stopped by: instructions
local function f() for i = 1, 30 do end end
while true do coroutine.resume(coroutine.create(f)) end

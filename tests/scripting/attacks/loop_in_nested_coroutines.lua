-- stopped by: instructions
local function f(n) if n == 0 then while true do end end coroutine.wrap(f)(n - 1) end
f(50)

-- stopped by: instructions
local function f() while true do pcall(f) end end
f()

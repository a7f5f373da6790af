-- stopped by: clock
local function f() while true do end end
xpcall(f, f)

-- stopped by: error
local function f() local ok, what = pcall(f) error(what, 0) end
f()

-- stopped by: error
local function f() return (("x"):gsub("x", f)) end
return f()

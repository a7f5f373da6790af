-- stopped by: allow-list
local function f() local _ENV = _G return os.exit() end
return f()

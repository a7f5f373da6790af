-- stopped by: error
local function h() error("again") end
local ok, what = xpcall(error, h)
error("handled", 0)

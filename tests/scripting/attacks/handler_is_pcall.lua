-- stopped by: error
local ok = xpcall(error, pcall)
error("handled", 0)

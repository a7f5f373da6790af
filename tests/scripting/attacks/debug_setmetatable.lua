-- stopped by: allow-list
return debug.setmetatable(1, {})

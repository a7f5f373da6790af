-- stopped by: allow-list
local function f(_ENV) return io end
return f(_G)

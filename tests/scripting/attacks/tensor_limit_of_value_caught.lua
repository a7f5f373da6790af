-- stopped by: memory
local ok = pcall(function() return cupel.zeros{1 << 30} end) while true do end

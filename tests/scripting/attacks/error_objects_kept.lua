-- stopped by: memory
local t = {}
while true do local ok, what = pcall(error, {t, ("x"):rep(1000) .. #t}) t[#t + 1] = what end

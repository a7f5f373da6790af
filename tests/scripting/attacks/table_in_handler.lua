-- stopped by: memory
xpcall(error, function() local t = {} while true do t[#t + 1] = {} end end)

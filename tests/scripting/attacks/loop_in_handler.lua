-- stopped by: instructions
xpcall(error, function() while true do end end)

-- stopped by: instructions
xpcall(error, function() pcall(function() while true do end end) while true do end end)

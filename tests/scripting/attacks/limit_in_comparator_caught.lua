-- stopped by: instructions
while true do pcall(table.sort, {2, 1}, function() while true do end end) end

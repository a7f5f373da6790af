-- stopped by: instructions
pcall(function() while true do end end)
while true do end

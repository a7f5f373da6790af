-- stopped by: instructions
("x"):gsub("x", function() while true do end end)

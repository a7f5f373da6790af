-- stopped by: instructions
while true do pcall(string.gsub, "x", "x", function() while true do end end) end

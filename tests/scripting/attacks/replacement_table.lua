-- stopped by: error
return ("x"):gsub("x", function() return {} end)

-- stopped by: instructions
while true do pcall(function() return no_such_global end) end

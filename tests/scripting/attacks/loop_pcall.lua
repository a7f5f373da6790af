-- stopped by: instructions
while true do pcall(error) end

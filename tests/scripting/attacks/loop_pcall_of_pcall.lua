-- stopped by: instructions
while true do pcall(pcall, pcall, pcall, error) end

-- stopped by: instructions
while true do pcall(require, "endless") end

-- stopped by: instructions
while true do end

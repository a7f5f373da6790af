-- stopped by: instructions
while true do print("x") end

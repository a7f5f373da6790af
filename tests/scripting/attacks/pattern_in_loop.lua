-- stopped by: instructions
while true do ("abc"):find("c") end

-- stopped by: clock
while true do end

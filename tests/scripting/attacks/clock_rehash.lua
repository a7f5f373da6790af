-- stopped by: clock
while true do local t = {} for i = 1, 50000 do t[i * 3] = true end end

-- stopped by: clock
while true do local t = {} for i = 1, 100000 do t[i] = i end end

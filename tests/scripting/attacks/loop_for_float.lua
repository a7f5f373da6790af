-- stopped by: instructions
for i = 0, math.huge do end

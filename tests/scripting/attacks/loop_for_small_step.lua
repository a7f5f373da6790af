-- stopped by: instructions
for i = 1.0, 2.0, 1e-300 do end

-- stopped by: instructions
while true do for _ in ("xxxx"):gmatch("") do end end

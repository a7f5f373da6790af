-- stopped by: instructions
while true do for i, x in ipairs(cupel.zeros{1000}) do end end

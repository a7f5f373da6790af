-- stopped by: instructions
while true do for k in pairs({1, 2, 3}) do end end

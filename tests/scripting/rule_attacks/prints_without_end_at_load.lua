-- stopped by: instructions
-- at: load
while true do print(("x"):rep(1000)) end

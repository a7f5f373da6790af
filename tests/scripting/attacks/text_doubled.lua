-- stopped by: memory
local s = 'x'
while true do s = s .. s end

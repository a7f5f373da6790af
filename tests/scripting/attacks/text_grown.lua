-- stopped by: memory
local s = ('x'):rep(1000000)
for i = 1, 1e6 do s = s .. 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' end

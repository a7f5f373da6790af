-- stopped by: instructions
local i = 0
while true do i = i + 1 pcall(string.find, "abc", "c" .. i) end

-- stopped by: allow-list
return getmetatable("").__index

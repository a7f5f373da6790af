-- stopped by: allow-list
return setmetatable({}, {__gc = function() end})

-- stopped by: allow-list
return setmetatable(cupel.zeros{1}, {__gc = print})

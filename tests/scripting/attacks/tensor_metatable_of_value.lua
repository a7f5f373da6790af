-- stopped by: allow-list
return getmetatable(cupel.zeros{1}).__index

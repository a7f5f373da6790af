-- stopped by: allow-list
return getmetatable(_G).__index

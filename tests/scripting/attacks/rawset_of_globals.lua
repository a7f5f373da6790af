-- stopped by: allow-list
return rawset(_G, "x", 1)

-- stopped by: allow-list
return warn("@on")

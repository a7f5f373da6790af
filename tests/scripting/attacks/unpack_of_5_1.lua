-- stopped by: allow-list
return unpack({1})

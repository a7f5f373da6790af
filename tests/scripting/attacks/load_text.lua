-- stopped by: allow-list
return load("return 1")

-- stopped by: allow-list
return package.loadlib("libc.so.6", "system")

-- stopped by: allow-list
return package.loaded.io

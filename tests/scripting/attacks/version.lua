-- stopped by: allow-list
return _VERSION

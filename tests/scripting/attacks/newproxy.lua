-- stopped by: allow-list
return newproxy(true)

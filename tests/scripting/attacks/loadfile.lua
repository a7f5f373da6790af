-- stopped by: allow-list
return loadfile("/etc/passwd")

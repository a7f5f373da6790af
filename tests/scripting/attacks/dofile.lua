-- stopped by: allow-list
return dofile("/etc/passwd")

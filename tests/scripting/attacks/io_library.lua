-- stopped by: allow-list
return io.open("/etc/passwd")

-- stopped by: allow-list
return os.getenv("HOME")

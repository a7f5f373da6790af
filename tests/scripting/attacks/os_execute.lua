-- stopped by: allow-list
return os.execute("true")

-- stopped by: allow-list
return ("x").io.open("f")

-- stopped by: error
return ("x1"):find("%d")

-- stopped by: error
return ("x"):find("\\C")

-- stopped by: error
return ("x"):match("%bxy")

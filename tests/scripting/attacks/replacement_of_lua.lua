-- stopped by: error
return ("x"):gsub("(x)", "%1")

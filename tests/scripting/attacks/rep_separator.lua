-- stopped by: error
return (""):rep(1e9, "xxxxxxxx")

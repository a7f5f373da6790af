-- stopped by: error
return ("x"):rep(1 << 62)

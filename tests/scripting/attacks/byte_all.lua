-- stopped by: error
return ("x"):rep(1 << 20):byte(1, -1)

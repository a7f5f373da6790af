-- stopped by: error
return ("%s"):rep(3):format(("x"):rep(500000), ("x"):rep(500000), ("x"):rep(500000))

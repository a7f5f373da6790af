-- stopped by: error
return ("x"):find(("a"):rep(100000))

-- stopped by: error
return (("x"):rep(100000)):gsub("x", ("y"):rep(1000))

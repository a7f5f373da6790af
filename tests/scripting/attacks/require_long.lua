-- stopped by: error
return require(("a"):rep(1000000))

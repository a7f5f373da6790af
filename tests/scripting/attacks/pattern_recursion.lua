-- stopped by: error
return (("("):rep(500000)):find("^(\\((?1)*\\))*$")

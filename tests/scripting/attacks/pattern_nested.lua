-- stopped by: error
return ("x"):find(("("):rep(900) .. (")"):rep(900))

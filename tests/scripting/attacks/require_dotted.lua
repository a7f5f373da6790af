-- stopped by: error
return require("a.b")

-- stopped by: error
return require("one")

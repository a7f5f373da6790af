-- stopped by: error
return require("a\0b")

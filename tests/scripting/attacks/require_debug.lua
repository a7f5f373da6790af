-- stopped by: error
return require("debug")

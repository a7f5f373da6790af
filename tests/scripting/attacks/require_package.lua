-- stopped by: error
return require("package")

-- stopped by: error
return require("../secret")

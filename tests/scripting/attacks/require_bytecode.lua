-- stopped by: error
return require("bytecode")

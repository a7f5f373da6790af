-- stopped by: error
return require("")

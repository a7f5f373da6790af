-- stopped by: error
return ("%5s"):format("a\0b")

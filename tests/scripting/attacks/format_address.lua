-- stopped by: error
return ("%p"):format({})

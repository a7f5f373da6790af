-- stopped by: error
return ("%999d"):format(1)

-- stopped by: error
return ("%d %d"):format(1)

-- stopped by: error
return ("%d"):format(cupel.zeros{1})

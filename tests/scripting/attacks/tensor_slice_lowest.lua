-- stopped by: error
return cupel.zeros{3}:slice(1, math.mininteger, math.maxinteger, math.maxinteger)

-- stopped by: error
return cupel.zeros{3}:slice(1, 1, 3, math.mininteger)

-- stopped by: error
return cupel.zeros{3}[math.mininteger]

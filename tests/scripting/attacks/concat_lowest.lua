-- stopped by: error
return table.concat({}, "", math.mininteger, math.maxinteger)

-- stopped by: error
return table.move({}, 1, 10, math.maxinteger)

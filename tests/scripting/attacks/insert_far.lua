-- stopped by: error
table.insert({}, 1 << 40, 1)

-- stopped by: error
table.remove({1}, 1 << 40)

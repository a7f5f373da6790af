-- stopped by: error
return table.concat(cupel.zeros{3})

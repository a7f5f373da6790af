-- stopped by: error
return "10" + 1

-- stopped by: error
error(nil)

-- stopped by: error
return next({1}, "no")

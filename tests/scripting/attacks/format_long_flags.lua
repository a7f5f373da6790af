-- stopped by: error
return ("%" .. ("0"):rep(10000) .. "d"):format(1)

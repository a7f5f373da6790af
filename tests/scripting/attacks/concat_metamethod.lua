-- stopped by: error
return {} .. "x"

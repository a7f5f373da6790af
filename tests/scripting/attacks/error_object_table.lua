-- stopped by: error
error({1})

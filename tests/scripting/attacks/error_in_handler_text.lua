-- stopped by: error
xpcall(error, string.rep)
error("handled", 0)

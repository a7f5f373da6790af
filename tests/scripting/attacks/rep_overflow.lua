-- stopped by: error
return ("xx"):rep((1 << 63) - 1, "yy")

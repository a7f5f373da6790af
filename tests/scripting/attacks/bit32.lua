-- stopped by: allow-list
return bit32.bnot(0)

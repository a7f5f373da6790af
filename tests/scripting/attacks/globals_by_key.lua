-- stopped by: error
_G[{}] = 1
return _G[print]

-- stopped by: allow-list
return math.randomseed(1)

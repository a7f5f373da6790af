-- stopped by: allow-list
return _G._G._G.io

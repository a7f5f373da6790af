-- stopped by: error
local _ENV <const> = {}
function A() A = {} end
x = ~0.5

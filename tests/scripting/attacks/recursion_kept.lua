-- stopped by: memory
local function f(...) return f(1, ...) , 1 end
local t = {}
local function g(n) local a, b, c, d, e, f, h = 1, 2, 3, 4, 5, 6, {} t[#t + 1] = ("x"):rep(1000) .. n return 1 + g(n + 1) end
g(1)

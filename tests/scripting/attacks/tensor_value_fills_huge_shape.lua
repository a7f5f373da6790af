-- stopped by: memory
local v = cupel.value(1, {shape = {1 << 39}, dtype = "u8"})

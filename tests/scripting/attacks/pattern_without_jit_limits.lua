-- stopped by: instructions
return (("a"):rep(100) .. "!"):match("(*LIMIT_MATCH=4000000000)(*NO_JIT)^(?:a|aa)+$")

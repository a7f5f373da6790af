-- stopped by: instructions
return (("a"):rep(40) .. "!"):find("^(?:a|aa)+$")

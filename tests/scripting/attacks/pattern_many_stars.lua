-- stopped by: instructions
return (("a"):rep(5000)):find(".*.*.*.*.*[bc]")

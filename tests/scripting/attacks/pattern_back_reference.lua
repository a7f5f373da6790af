-- stopped by: instructions
return (("a"):rep(2000)):find("(a*)(a*)(a*)\\1\\2\\3[bc]")

-- stopped by: instructions
return (("a"):rep(200)):find("^(a+)+[bc]")

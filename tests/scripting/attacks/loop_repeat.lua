-- stopped by: instructions
repeat until false

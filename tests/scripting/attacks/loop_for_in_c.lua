-- stopped by: instructions
for _ in rawlen, {} do end

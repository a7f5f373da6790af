-- stopped by: instructions
::again:: goto again

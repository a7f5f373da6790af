-- stopped by: allow-list
return string.packsize("!16 i16")

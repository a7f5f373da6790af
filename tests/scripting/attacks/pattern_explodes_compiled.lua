-- stopped by: error
return ("x"):find("((((a{999}){999}){999}){999})")

-- stopped by: error
return cupel.zeros{1}.sum(print)

-- stopped by: error
-- at: load
return cupel.rule{name = "../canary", invoke_at_step = function() end}

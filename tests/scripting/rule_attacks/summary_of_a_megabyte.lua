-- stopped by: error
-- at: load
return cupel.rule{name = "Attack", summary = ("x"):rep(1e6), invoke_at_step = function() end}

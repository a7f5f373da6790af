-- stopped by: error
-- at: load
return {name = "Attack", invoke_at_step = function() end}

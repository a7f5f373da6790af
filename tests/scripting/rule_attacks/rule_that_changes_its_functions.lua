-- stopped by: nothing
-- at: load
local rule = cupel.rule{name = "Attack", params = {a = 1}, needs = {},
                        invoke_at_step = function() end}
rule.needs = nil
rule.on_end = print
return rule

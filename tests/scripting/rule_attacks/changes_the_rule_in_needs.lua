-- stopped by: error
local rule
rule = cupel.rule{
  name = "Attack",
  needs = function()
    rule.name, rule.invoke_at_step, rule.needs = nil, 5, 5
    return {}
  end,
  invoke_at_step = function() end,
}
return rule

-- stopped by: nothing
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    for _, name in ipairs{"strange", "nothing", "words", "loss"} do
      local value = trial:tensor(name):value(step)
      for _, method in ipairs{"abs", "sqrt", "flatten", "any", "all", "counts", "argmax", "argmin",
                              "norm", "histogram", "to_table", "indices", "isnan", "count_nonzero",
                              "item", "cosine_similarity", "dot", "where"} do
        pcall(function() return value[method](value) end)
        pcall(function() return value[method](value, value, value) end)
        pcall(function() return value[method](value, {}, {}) end)
      end
      pcall(function() return value + value, value == value, value .. value, #value, -value end)
    end
  end,
}

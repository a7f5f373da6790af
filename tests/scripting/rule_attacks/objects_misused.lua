-- stopped by: nothing
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    local tensor = trial:tensor("loss")
    for _, object in ipairs{trial, tensor, tensor:value(step), self, print} do
      for _, key in ipairs{"__index", "__metatable", "__gc", "__name", 1, {}, print} do
        pcall(function() return object[key] end)
        pcall(function() object[key] = nil end)
      end
      pcall(function() return object .. "x" end)
      pcall(function() return #object end)
      pcall(function() return object < object end)
      pcall(function() return object + object end)
      pcall(function() return object() end)
      pcall(pairs, object)
      pcall(next, object)
      pcall(rawlen, object)
      pcall(table.sort, object)
      pcall(table.concat, object)
      pcall(string.rep, object, 10)
      local text = tostring(object) .. string.format("%s", object)
      assert(not text:find("0x"), text)
      assert(object == object and rawequal(object, object))
    end
  end,
}

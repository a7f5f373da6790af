-- stopped by: clock
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    local function keep(...)
      local function take(...) end
      coroutine.yield()
      while true do take(...) end
    end
    local function grow(n, ...)
      if n == 0 then return keep(...) end
      return grow(n - 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, ...)
    end
    local many = {}
    for i = 1, 90000 do many[i] = i end
    self.stacks = self.stacks or {}
    for _, stack in ipairs(self.stacks) do stack() end
    self.stacks[1] = coroutine.wrap(function() grow(200, table.unpack(many)) end)
    self.stacks[1]()
  end,
}

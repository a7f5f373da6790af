-- stopped by: memory
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    local function deeper(n) return 1 + deeper(n + 1) end
    deeper(1)
  end,
}

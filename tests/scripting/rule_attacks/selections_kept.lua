-- stopped by: memory
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    local most_of_the_memory = cupel.zeros{5 << 20}
    local names = {}
    for i = 1, 15 do names[i] = string.rep("x", 60000) .. i end
    for i = 1, 2000 do
      names[16] = "x" .. i
      trial:each{step = step, collection = names}
    end
    return #most_of_the_memory
  end,
}

-- stopped by: error
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    local function deeper() return (("x"):gsub("x", deeper)) end
    deeper()
  end,
}

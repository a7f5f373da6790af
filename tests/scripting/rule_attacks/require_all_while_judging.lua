-- stopped by: nothing
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    for _, name in ipairs{"../canary", "link", "pipe", "zeros", "folder", "/etc/passwd", "one", "",
                          "canary\0", "broken", "bytecode", "file:///etc/passwd", "~/x", "%2e%2e/x"} do
      local ok, what = pcall(require, name)
      print(ok, what)
    end
  end,
}

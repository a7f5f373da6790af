-- Names of tensors that belong together. A module: other files of this folder get what it returns
-- by `local names = require "names"`.

local names = {}

-- The parameter that a gradient belongs to; nil where the name does not tell.
--
--   gradient/fc1.weight     fc1.weight
--   fc1.weight.grad         fc1.weight
--   fc1.weight_grad         fc1.weight
function names.parameter_of(gradient)
  return gradient:match("^gradients?/(.+)$") or gradient:match("^(.+)[._/]grad$")
end

return names

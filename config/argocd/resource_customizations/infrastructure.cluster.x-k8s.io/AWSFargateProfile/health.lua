-- The conditions follow kstatus: https://pkg.go.dev/sigs.k8s.io/cli-utils/pkg/kstatus
-- Stalled is True only if a user must act. An object with another problem becomes Ready on its own, so that it must
-- not fail a sync.
local health = { status = "Progressing", message = "Waiting for the controller" }
local status = obj.status
if status == nil or status.conditions == nil then
  return health
end

local conditions = {}
for _, condition in ipairs(status.conditions) do
  conditions[condition.type] = condition
end

-- While an object is paused, its other conditions stay as they were, and may be old.
local paused = conditions["Paused"]
if paused ~= nil and paused.status == "True" then
  return { status = "Suspended", message = paused.message or "" }
end

if status.observedGeneration ~= obj.metadata.generation then
  health.message = "Waiting for the controller to observe the latest generation"
  return health
end

local stalled = conditions["Stalled"]
if stalled ~= nil and stalled.status == "True" then
  return { status = "Degraded", message = stalled.message or "" }
end

local ready = conditions["Ready"]
if ready ~= nil then
  health.message = ready.message or ""
  if ready.status == "True" then
    health.status = "Healthy"
  end
end
return health

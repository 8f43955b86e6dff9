-- Logs in, or exchanges refresh tokens, each one once; the file has a body a line.
local thread = 0
function setup(t)
  t:set("number", thread)
  thread = thread + 1
end

local path, mode = os.getenv("TARGET"), os.getenv("MODE")
local address_field = os.getenv("ADDRESS_FIELD")
-- The members of a refresh beside its token, each with a comma.
local members = os.getenv("MEMBERS") or ""
local headers = { ["Content-Type"] = "application/json" }
local bodies, next_body = {}, 0

function init()
  math.randomseed(os.time() + number)
  -- Each thread has bodies of its own.
  local index = 0
  for line in io.lines(os.getenv("BODIES")) do
    if index % 2 == number then bodies[#bodies + 1] = line end
    index = index + 1
  end
end

function request()
  if mode == "refresh" then
    -- One that is not under way; its successor comes with the answer.
    return wrk.format("POST", path, headers, table.remove(bodies, 1))
  end
  if address_field then
    -- Each from another address: those of one wait for one another at the row that counts them.
    headers[address_field] = string.format(
      "10.%d.%d.%d", math.random(0, 255), math.random(0, 255), math.random(0, 255))
  end
  next_body = next_body % #bodies + 1
  return wrk.format("POST", path, headers, bodies[next_body])
end

if mode == "refresh" then
  function response(status, _, body)
    local token = body:match('"refresh_token":"([^"]+)"')
    if token then bodies[#bodies + 1] = '{' .. members .. '"refresh_token":"' .. token .. '"}' end
  end
end

done = function(summary, latency)
  io.write(string.format(
    'RESULT {"rate": %.1f, "p50_us": %d, "p99_us": %d, "errors": %d}\n',
    summary.requests / summary.duration * 1e6, latency:percentile(50), latency:percentile(99),
    summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.timeout))
end

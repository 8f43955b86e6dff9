-- Sends each request as another user; the file has a token a line.
local thread = 0
function setup(t)
  t:set("number", thread)
  thread = thread + 1
end

local started = os.time()
local tokens = {}
for line in io.lines(os.getenv("TOKENS")) do tokens[#tokens + 1] = line end
-- The file of TARGETS has a path a line, of which each request takes one.
local targets = { os.getenv("TARGET") }
if os.getenv("TARGETS") then
  targets = {}
  for line in io.lines(os.getenv("TARGETS")) do targets[#targets + 1] = line end
end
local method, kind = os.getenv("METHOD"), os.getenv("KIND")
-- Of each request, with an own text in place of UNIQUE; a PATCH without one counts.
local body = os.getenv("BODY")
local count = 0

request = function()
  count = count + 1
  local path = targets[math.random(#targets)]
  local headers = { Authorization = "Bearer " .. tokens[math.random(#tokens)] }
  if method ~= "GET" then
    headers["Content-Type"] = kind
    local own = string.format("%d-%d-%d", started, number, count)
    local text = body and body:gsub("UNIQUE", own) or '{"counter":' .. count .. "}"
    return wrk.format(method, path, headers, text)
  end
  return wrk.format(method, path, headers)
end

-- Milliseconds between an answer and the next request of a connection.
local pause = tonumber(os.getenv("PAUSE") or "0")
if pause > 0 then delay = function() return pause end end

init = function() math.randomseed(os.time()) end

done = function(summary, latency)
  io.write(string.format(
    'RESULT {"rate": %.1f, "p50_us": %d, "p99_us": %d, "errors": %d}\n',
    summary.requests / summary.duration * 1e6, latency:percentile(50), latency:percentile(99),
    summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.timeout))
end

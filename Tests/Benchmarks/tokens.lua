-- Sends each request as another user; the file has a token a line.
dofile(os.getenv("SHARED"))

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
  local path = targets[math.random(#targets)]
  local headers = { Authorization = "Bearer " .. tokens[math.random(#tokens)] }
  if method ~= "GET" then
    headers["Content-Type"] = kind
    count = count + 1
    local text = body and body:gsub("UNIQUE", unique) or '{"counter":' .. count .. "}"
    return wrk.format(method, path, headers, text)
  end
  return wrk.format(method, path, headers)
end

-- Milliseconds between an answer and the next request of a connection.
local pause = tonumber(os.getenv("PAUSE") or "0")
if pause > 0 then delay = function() return pause end end

init = function() math.randomseed(os.time()) end

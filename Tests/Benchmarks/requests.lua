-- Sends the requests of a file in turn, or exchanges refresh tokens, each one once. Each line has a
-- body, and header fields after tabs. UNIQUE in a body stands for another text in each request.
dofile(os.getenv("SHARED"))

local path, mode = os.getenv("TARGET"), os.getenv("MODE")
local method = os.getenv("METHOD") or "POST"
local address_field = os.getenv("ADDRESS_FIELD")
-- The members of a refresh beside its token, each with a comma.
local members = os.getenv("MEMBERS") or ""
local bodies, next_body = {}, 0

-- Returns the body and the header fields of a line.
local function parsed(line)
  local body, rest = line:match("^([^\t]*)(.*)$")
  local headers = { ["Content-Type"] = "application/json" }
  for name, value in rest:gmatch("\t([^:]+): ([^\t]*)") do headers[name] = value end
  return { body = body, headers = headers }
end

function init()
  math.randomseed(os.time() + number)
  -- Each thread has bodies of its own.
  local index = 0
  for line in io.lines(os.getenv("BODIES")) do
    if index % 2 == number then bodies[#bodies + 1] = parsed(line) end
    index = index + 1
  end
end

function request()
  if mode == "refresh" then
    -- One that is not under way; its successor comes with the answer.
    local first = table.remove(bodies, 1)
    return wrk.format(method, path, first.headers, first.body)
  end
  next_body = next_body % #bodies + 1
  local headers = bodies[next_body].headers
  if address_field then
    -- Each from another address: those of one wait for one another at the row that counts them.
    headers[address_field] = string.format(
      "10.%d.%d.%d", math.random(0, 255), math.random(0, 255), math.random(0, 255))
  end
  return wrk.format(method, path, headers, (bodies[next_body].body:gsub("UNIQUE", unique)))
end

if mode == "refresh" then
  function response(status, _, body)
    local token = body:match('"refresh_token":"([^"]+)"')
    if token then bodies[#bodies + 1] = parsed('{' .. members .. '"refresh_token":"' .. token .. '"}') end
  end
end

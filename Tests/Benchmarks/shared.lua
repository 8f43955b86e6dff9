-- What the scripts of wrk share: the number of each thread, unique texts, and the line with the result.
local thread = 0
function setup(t)
  t:set("number", thread)
  thread = thread + 1
end

local started, count = os.time(), 0

-- Returns a text that no other request of any thread has.
function unique()
  count = count + 1
  return string.format("%d-%d-%d", started, number, count)
end

done = function(summary, latency)
  io.write(string.format(
    'RESULT {"rate": %.1f, "p50_us": %d, "p99_us": %d, "errors": %d}\n',
    summary.requests / summary.duration * 1e6, latency:percentile(50), latency:percentile(99),
    summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.timeout))
end

-- POST the body given after `--` as JSON, with the headers that follow it as `Name: value`, and end
-- with one JSON line of totals.
function init(args)
  wrk.method = "POST"
  wrk.body = args[1]
  wrk.headers["Content-Type"] = "application/json"
  for i = 2, #args do
    local name, value = string.match(args[i], "^([^:]+): (.*)$")
    wrk.headers[name] = value
  end
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"microseconds":%d,"bad_statuses":%d,"socket_errors":%d,"p50":%d,"p99":%d}\n',
    summary.requests, summary.duration, e.status, e.connect + e.read + e.write + e.timeout,
    latency:percentile(50), latency:percentile(99)))
end

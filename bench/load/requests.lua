-- The requests that wrk sends, and the result that it prints, as one line of JSON.
--
--     PETSTORE_BENCH_PORTS="PORT…" wrk --threads … --script requests.lua ORIGIN -- KIND KEY IDS_FILE FIRST_QUANTITY
--
-- Each of the threads has one of the ports, and all together make each update once.

local batch_size = 100

local function patch(id) return "PATCH /v1/inventory/" .. id .. " HTTP/1.1\r\n" end
local function set(id, quantity) return '{"quantity":' .. quantity .. "}" end

-- `head` and `body` get the id of a pet and a quantity; `body` of a batch gets a function that returns the next ones.
-- Without a body, `each` says that each request has another pet.
local kinds = {
  list = { head = function() return "GET /v1/inventory HTTP/1.1\r\n" end },
  read = { head = function(id) return "GET /v1/inventory/" .. id .. " HTTP/1.1\r\n" end, each = true },
  page = { head = function() return "GET /v1/inventory?pageSize=20 HTTP/1.1\r\n" end },
  patch = { head = patch, body = set },
  keyed = {
    head = function(id, quantity) return patch(id) .. "Idempotency-Key: bench-" .. quantity .. "\r\n" end,
    body = set,
  },
  adjust = {
    head = function(id) return "POST /v1/inventory/" .. id .. ":adjust HTTP/1.1\r\n" end,
    body = function() return '{"delta":1}' end,
  },
  batch = {
    head = function() return "POST /v1/inventory:batch HTTP/1.1\r\n" end,
    body = function(id, quantity, next_update)
      local changes = {}
      for index = 1, batch_size do
        changes[index] = '{"petId":' .. id .. ',"quantity":' .. quantity .. "}"
        if index < batch_size then id, quantity = next_update() end
      end
      return '{"changes":[' .. table.concat(changes, ",") .. "]}"
    end,
  },
  connect = {
    head = function()
      return "POST /petstore.v1.InventoryService/UpdateInventory HTTP/1.1\r\nConnect-Protocol-Version: 1\r\n"
    end,
    body = function(id, quantity) return '{"petId":"' .. id .. '","update":{"quantity":"' .. quantity .. '"}}' end,
  },
}

local ports, threads = {}, 0
for port in os.getenv("PETSTORE_BENCH_PORTS"):gmatch("%d+") do ports[#ports + 1] = port end

function setup(thread)
  threads = threads + 1
  thread.addr = wrk.lookup(wrk.host, ports[threads])[1]
  thread:set("first", threads - 1)
end

function init(args)
  local kind, key, ids_file, first_quantity = kinds[args[1]], args[2], args[3], tonumber(args[4])
  local fixed = "Host: " .. wrk.host .. ":" .. wrk.port .. "\r\nAuthorization: Bearer " .. key .. "\r\n"
  if not kind.body and not kind.each then
    local text = kind.head() .. fixed .. "\r\n"
    request = function() return text end
    return
  end

  local ids = {}
  for id in io.lines(ids_file) do ids[#ids + 1] = id end
  local count, made = #ids, first
  local head, body = kind.head, kind.body
  local rest = fixed .. "Content-Type: application/json\r\nContent-Length: "
  local function next_update()
    local id, quantity = ids[made % count + 1], first_quantity + made
    made = made + #ports
    return id, quantity
  end
  request = function()
    local id, quantity = next_update()
    if not body then return head(id) .. fixed .. "\r\n" end
    local content = body(id, quantity, next_update)
    return head(id, quantity) .. rest .. #content .. "\r\n\r\n" .. content
  end
end

function done(summary, latency)
  local errors = summary.errors
  print(string.format(
    '{"requests":%d,"seconds":%f,"p50Us":%d,"p99Us":%d,"failures":%d,"loadCpuSeconds":%f}',
    summary.requests, summary.duration / 1e6, latency:percentile(50), latency:percentile(99),
    errors.connect + errors.read + errors.write + errors.status + errors.timeout, os.clock()
  ))
end

-- The requests that wrk sends, and the result that it prints, as one line of JSON.
--
--     wrk … --script requests.lua ORIGIN -- KIND KEY IDS_FILE FIRST_QUANTITY

local kinds = {
  list = { head = function() return "GET /v1/inventory HTTP/1.1\r\n" end },
  patch = {
    head = function(id) return "PATCH /v1/inventory/" .. id .. " HTTP/1.1\r\n" end,
    body = function(_, quantity) return '{"quantity":' .. quantity .. "}" end,
  },
  connect = {
    head = function()
      return "POST /petstore.v1.InventoryService/UpdateInventory HTTP/1.1\r\nConnect-Protocol-Version: 1\r\n"
    end,
    body = function(id, quantity) return '{"petId":"' .. id .. '","update":{"quantity":"' .. quantity .. '"}}' end,
  },
}

function init(args)
  local kind, key, ids_file, first_quantity = kinds[args[1]], args[2], args[3], tonumber(args[4])
  local fixed = "Host: " .. wrk.host .. ":" .. wrk.port .. "\r\nAuthorization: Bearer " .. key .. "\r\n"
  if not kind.body then
    local text = kind.head() .. fixed .. "\r\n"
    request = function() return text end
    return
  end

  local ids = {}
  for id in io.lines(ids_file) do ids[#ids + 1] = id end
  local count, next_update = #ids, 0
  local head, body = kind.head, kind.body
  local rest = fixed .. "Content-Type: application/json\r\nContent-Length: "
  request = function()
    local id, quantity = ids[next_update % count + 1], first_quantity + next_update
    next_update = next_update + 1
    local content = body(id, quantity)
    return head(id) .. rest .. #content .. "\r\n\r\n" .. content
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

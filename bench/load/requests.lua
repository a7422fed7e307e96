-- The requests that wrk sends, and the result that it prints, as one line of JSON.
--
--     wrk … --script requests.lua ORIGIN -- KIND KEY IDS_FILE FIRST_QUANTITY

local heads = {
  patch = "PATCH /v1/inventory/%s HTTP/1.1\r\n",
  connect = "POST /petstore.v1.InventoryService/UpdateInventory HTTP/1.1\r\nConnect-Protocol-Version: 1\r\n",
  list = "GET /v1/inventory HTTP/1.1\r\n",
}
local bodies = {
  patch = '{"quantity":%d}',
  connect = '{"petId":"%s","update":{"quantity":"%d"}}',
}

function init(args)
  local kind, key, ids_file, first_quantity = args[1], args[2], args[3], tonumber(args[4])
  local fixed = "Host: " .. wrk.host .. ":" .. wrk.port .. "\r\nAuthorization: Bearer " .. key .. "\r\n"
  if kind == "list" then
    local text = heads.list .. fixed .. "\r\n"
    request = function() return text end
    return
  end

  local ids = {}
  for id in io.lines(ids_file) do ids[#ids + 1] = id end
  local count, next_update = #ids, 0
  local head, body = heads[kind], bodies[kind]
  local rest = fixed .. "Content-Type: application/json\r\nContent-Length: "
  request = function()
    local id, quantity = ids[next_update % count + 1], first_quantity + next_update
    next_update = next_update + 1
    local content = kind == "patch" and body:format(quantity) or body:format(id, quantity)
    return head:format(id) .. rest .. #content .. "\r\n\r\n" .. content
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

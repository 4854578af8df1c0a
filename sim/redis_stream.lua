-- Reads a stream (redis_look.go): its entries, and behind them its last ID.
local holds = redis.call('XRANGE', KEYS[1], '-', '+')
local info = redis.call('XINFO', 'STREAM', KEYS[1])
for n = 1, #info, 2 do
  if info[n] == 'last-generated-id' then holds[#holds + 1] = info[n + 1] end
end
return holds

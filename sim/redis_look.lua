-- Reads what is under keys and fields (redis_real.go): of each its type, when its key expires, and what it holds.
local seen = {}
for i = 1, #ARGV, 3 do
  local whole, key, field = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local kind, at, holds = redis.call('TYPE', key).ok, -1, false
  if whole == '1' then
    at = redis.call('PEXPIRETIME', key)
    if kind == 'string' then holds = {'', redis.call('GET', key)}
    elseif kind == 'hash' then holds = redis.call('HGETALL', key)
    elseif kind == 'zset' then holds = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
    elseif kind == 'list' then holds = redis.call('LRANGE', key, 0, -1)
    elseif kind == 'set' then holds = redis.call('SMEMBERS', key)
    end
  elseif kind == 'hash' then holds = redis.call('HGET', key, field)
  elseif kind == 'zset' then holds = redis.call('ZSCORE', key, field)
  elseif kind == 'set' then holds = redis.call('SISMEMBER', key, field) == 1 and ''
  end
  seen[#seen + 1], seen[#seen + 2], seen[#seen + 3] = kind, at, holds
end
return seen

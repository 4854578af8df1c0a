-- Reads what is under keys and fields (redis_real.go): of each key its type, when it expires, and what it holds. Of its fields as many
-- as are said behind it are asked for; of 0 the whole of it.
local seen, i = {}, 1
while i < #ARGV do
  local key, fields = ARGV[i], tonumber(ARGV[i + 1])
  local kind, at, holds = redis.call('TYPE', key).ok, -1, false
  if fields == 0 then
    at = redis.call('PEXPIRETIME', key)
    if kind == 'string' then holds = {'', redis.call('GET', key)}
    elseif kind == 'hash' then holds = redis.call('HGETALL', key)
    elseif kind == 'zset' then holds = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
    elseif kind == 'list' then holds = redis.call('LRANGE', key, 0, -1)
    elseif kind == 'set' then holds = redis.call('SMEMBERS', key)
    elseif kind == 'stream' then
      holds = redis.call('XRANGE', key, '-', '+')
      local info = redis.call('XINFO', 'STREAM', key)
      for n = 1, #info, 2 do
        if info[n] == 'last-generated-id' then holds[#holds + 1] = info[n + 1] end
      end
    end
  else
    local named = {unpack(ARGV, i + 2, i + 1 + fields)}
    if kind == 'hash' then holds = redis.call('HMGET', key, unpack(named))
    elseif kind == 'zset' then holds = redis.call('ZMSCORE', key, unpack(named))
    elseif kind == 'set' then holds = redis.call('SMISMEMBER', key, unpack(named))
    end
  end
  seen[#seen + 1], seen[#seen + 2], seen[#seen + 3] = kind, at, holds
  i = i + 2 + fields
end
return seen

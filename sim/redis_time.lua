-- What a script is run behind, so that its commands go by the time of the world (redis_time.go).
if ARGV[#ARGV] == 'load' then return ARGV[1] end
local redis = (function(redis)
  -- The time of the world: in nanoseconds as the server has it, in milliseconds since 1970, and nanoseconds beyond those.
  local beyond, unix, stamp = tonumber(table.remove(ARGV)), tonumber(table.remove(ARGV)), table.remove(ARGV)
  local now = tonumber(stamp)
  local unit = {ex = 1000, px = 1, exat = 1000, pxat = 1}
  local option = {setex = 'ex', psetex = 'px', expire = 'ex', pexpire = 'px', expireat = 'exat', pexpireat = 'pxat'}

  local function refuse(what)
    error({err = 'ERR a world cannot run this Redis command in a script, over a redis-server: ' .. what})
  end

  -- instant is that of the server's at which a key expires that is given n milliseconds, or nil if the server is to refuse n. A number
  -- does not hold it: millions and the rest are counted apart.
  local function instant(word, n, least)
    n = type(n) == 'number' and string.format('%.17g', n) or n
    if not string.match(n, '^[-]?%d+$') or tonumber(n) < least then return nil end
    local ms, rest = tonumber(n) * unit[word], 0
    if string.find(word, 'at') then ms, rest = ms - unix, -beyond end
    if math.abs(ms) > LONGEST then refuse('a TTL of more than a hundred years') end
    if ms < 0 or ms == 0 and rest <= 0 then return '1' end
    local millions, rest = tonumber(string.sub(stamp, 1, -7)) + ms, tonumber(string.sub(stamp, -6)) + rest
    if rest < 0 then millions, rest = millions - 1, rest + 1e6 end
    return string.format('%.0f%06d', millions, rest)
  end

  -- options puts the instant in the place of a TTL among args, from the first on.
  local function options(call, args, first)
    for i = first, #args - 1 do
      local word = string.lower(args[i])
      if unit[word] then
        local at = instant(word, args[i + 1], 1)
        if at then args[i], args[i + 1] = 'PXAT', at end
        break
      end
    end
    return call(unpack(args))
  end

  local function setex(call, args)
    local at = #args == 4 and instant(option[string.lower(args[1])], args[3], 1)
    if at then return call('SET', args[2], args[4], 'PXAT', at) end
    return call(unpack(args))
  end

  local function expire(call, args)
    local at = args[3] and instant(option[string.lower(args[1])], args[3], -math.huge)
    if at then args[1], args[3] = 'PEXPIREAT', at end
    return call(unpack(args))
  end

  -- xadd dates the ID of an entry that is to be given one. Behind an ID that is later the server counts on from that.
  local function xadd(call, args)
    local i = 3
    while args[i] do
      local word = string.lower(args[i])
      if word == 'nomkstream' then i = i + 1
      elseif word == 'limit' then i = i + 2
      elseif word == 'maxlen' or word == 'minid' then i = i + ((args[i + 1] == '=' or args[i + 1] == '~') and 3 or 2)
      else break
      end
    end
    if args[i] ~= '*' then return call(unpack(args)) end
    args[i] = string.format('%.0f-*', unix)
    local id = redis.pcall(unpack(args))
    if type(id) ~= 'table' or not id.err then return id end
    if not string.find(id.err, 'equal or smaller') then return call(unpack(args)) end
    local info = redis.call('XINFO', 'STREAM', args[2])
    for n = 1, #info, 2 do
      if info[n] == 'last-generated-id' then args[i] = string.match(info[n + 1], '%d+') .. '-*' end
    end
    return call(unpack(args))
  end

  local function sorted(call, args)
    local list = call(unpack(args))
    if not list.err then table.sort(list) end
    return list
  end

  -- left answers TTL and its kind: from the instant at which a key expires, in milliseconds.
  local function left(call, args, of)
    if #args ~= 2 then return call(unpack(args)) end
    local at = call('PEXPIRETIME', args[2])
    if type(at) == 'table' or at < 0 then return at end
    return of(at > 9007199254740992 and at + 512 or at) -- beyond 2^53 a number is less exact
  end
  local function ttl(at) return math.floor((at - now) / 1e6) end
  local function since1970(at) return unix + math.floor((at - now + beyond) / 1e6) end
  local function seconds(ms) return math.floor((ms + 500) / 1000) end

  -- commands are those of which the answer or the effect hangs on the server's clock, or on how it hashes.
  local commands = {
    set = function(call, args) return options(call, args, 4) end,
    getex = function(call, args) return options(call, args, 3) end,
    setex = setex, psetex = setex,
    xadd = xadd,
    expire = expire, pexpire = expire, expireat = expire, pexpireat = expire,
    pttl = function(call, args) return left(call, args, ttl) end,
    ttl = function(call, args) return left(call, args, function(at) return seconds(ttl(at)) end) end,
    pexpiretime = function(call, args) return left(call, args, since1970) end,
    expiretime = function(call, args) return left(call, args, function(at) return seconds(since1970(at)) end) end,
    time = function(call, args) if #args > 1 then return call(unpack(args)) end return {string.format('%.0f', math.floor(unix / 1000)), string.format('%.0f', unix % 1000 * 1000 + math.floor(beyond / 1000))} end,
    smembers = sorted, keys = sorted, sunion = sorted, sinter = sorted, sdiff = sorted,
    scan = function(call, args) -- all at once, which COUNT allows
      local pattern, kind = '*', nil
      for i = 3, #args - 1, 2 do
        local word = string.lower(args[i])
        if word == 'match' then pattern = args[i + 1] elseif word == 'type' then kind = string.lower(args[i + 1]) end
      end
      local found = {}
      if tonumber(args[2]) == 0 then
        for _, key in ipairs(sorted(call, {'KEYS', pattern})) do
          if not kind or call('TYPE', key).ok == kind then found[#found + 1] = key end
        end
      end
      return {'0', found}
    end,
  }
  local allowed = ALLOWED

  local function through(call)
    return function(...)
      local args = {...}
      local name = string.lower(tostring(args[1]))
      if not allowed[name] then refuse(name) end
      local of = commands[name]
      if not of then return call(...) end
      return of(call, args)
    end
  end
  return setmetatable({call = through(redis.call), pcall = through(redis.pcall)}, {__index = redis})
end)(redis)

-- What a script is run behind, so that its commands go by the time of the world (redis_time.go).
local redis = (function(redis)
  -- The time of the world: in nanoseconds as the server has it, in milliseconds since 1970, and nanoseconds beyond those.
  local beyond, unix, now = tonumber(table.remove(ARGV)), tonumber(table.remove(ARGV)), tonumber(table.remove(ARGV))
  local relative = {ex = 1000, px = 1, expire = 1000, pexpire = 1}
  local absolute = {exat = 1000, pxat = 1, expireat = 1000, pexpireat = 1}

  -- due is the instant that n names after an option or a command, or nil if the server is to refuse n.
  local function due(word, n)
    n = tonumber(n)
    if not n or n ~= math.floor(n) or math.abs(n) > 1e12 then return nil end
    if relative[word] then return now + n * relative[word] * 1e6 end
    return now + (n * absolute[word] - unix) * 1e6 - beyond
  end

  -- options puts the instant in the place of a TTL among args, from the first on.
  local function options(args, first)
    for i = first, #args - 1 do
      local word = string.lower(args[i])
      if relative[word] or absolute[word] then
        local at = tonumber(args[i + 1]) and tonumber(args[i + 1]) > 0 and due(word, args[i + 1])
        if at then args[i], args[i + 1] = 'PXAT', string.format('%.0f', math.max(at, 1)) end
        return args
      end
    end
    return args
  end

  local function expire(name, args)
    local at = due(name, args[3])
    if at then args[1], args[3] = 'PEXPIREAT', string.format('%.0f', at > now and at or 1) end
    return args
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
    return of(at)
  end
  local function ttl(at) return math.floor((at - now) / 1e6) end
  local function since1970(at) return unix + math.floor((at - now + beyond) / 1e6) end
  local function seconds(ms) return math.floor((ms + 500) / 1000) end

  -- commands are those of which the answer or the effect hangs on the server's clock, or on how it hashes.
  local commands = {
    set = function(call, args) return call(unpack(options(args, 4))) end,
    getex = function(call, args) return call(unpack(options(args, 3))) end,
    setex = function(call, args)
      if #args ~= 4 then return call(unpack(args)) end
      return call(unpack(options({'SET', args[2], args[4], 'EX', args[3]}, 4)))
    end,
    psetex = function(call, args)
      if #args ~= 4 then return call(unpack(args)) end
      return call(unpack(options({'SET', args[2], args[4], 'PX', args[3]}, 4)))
    end,
    expire = function(call, args) return call(unpack(expire('expire', args))) end,
    pexpire = function(call, args) return call(unpack(expire('pexpire', args))) end,
    expireat = function(call, args) return call(unpack(expire('expireat', args))) end,
    pexpireat = function(call, args) return call(unpack(expire('pexpireat', args))) end,
    pttl = function(call, args) return left(call, args, ttl) end,
    ttl = function(call, args) return left(call, args, function(at) return seconds(ttl(at)) end) end,
    pexpiretime = function(call, args) return left(call, args, since1970) end,
    expiretime = function(call, args) return left(call, args, function(at) return seconds(since1970(at)) end) end,
    time = function() return {string.format('%.0f', math.floor(unix / 1000)), string.format('%.0f', unix % 1000 * 1000 + math.floor(beyond / 1000))} end,
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
      if not allowed[name] then error({err = 'ERR a world cannot run this Redis command in a script, over a redis-server: ' .. name}) end
      local of = commands[name]
      if not of then return call(...) end
      return of(call, args)
    end
  end
  return setmetatable({call = through(redis.call), pcall = through(redis.pcall)}, {__index = redis})
end)(redis)
